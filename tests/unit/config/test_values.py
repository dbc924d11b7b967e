from __future__ import annotations

from typing import Any, get_args

import pytest

from fluxrpc.config import values
from fluxrpc.config.nodes import Kind, ScalarNode
from fluxrpc.config.values import Address, Unfit


def node(value: Any) -> ScalarNode:
    kinds = {str: Kind.TEXT, int: Kind.INTEGER, float: Kind.NUMBER, bool: Kind.BOOLEAN, type(None): Kind.NULL}
    return ScalarNode(line=1, text=str(value), kind=kinds[type(value)], value=value)


def read(annotated: Any, value: Any) -> Any:
    return get_args(annotated)[1](node(value))


@pytest.mark.parametrize(
    ("form", "written", "expected"),
    [
        (values.Seconds, "250ms", 0.25),
        (values.Seconds, "1.5s", 1.5),
        (values.Seconds, "2m", 120.0),
        (values.Seconds, "1h", 3600.0),
        (values.Seconds, 7, 7.0),
        (values.Seconds, 0.05, 0.05),
        (values.SecondsFromZero, "0s", 0.0),
        (values.SecondsFromZero, 0, 0.0),
        (values.Bytes, "32MiB", 32 * 1024**2),
        (values.Bytes, "64KiB", 65_536),
        (values.Bytes, "1GiB", 1024**3),
        (values.Bytes, "12B", 12),
        (values.Bytes, 4096, 4096),
        (values.Count, 1, 1),
        (values.FromZero, 0, 0),
        (values.PositiveNumber, 0.5, 0.5),
        (values.Factor, 1, 1.0),
        (values.Flag, False, False),
        (values.Workers, 1, 1),
        (values.Name, "meta/llama-3.1:free", "meta/llama-3.1:free"),
        (values.Text, "a text", "a text"),
        (values.ListenAddress, "127.0.0.1:50051", Address(host="127.0.0.1", port=50051)),
        (values.ListenAddress, "[::1]:0", Address(host="::1", port=0)),
        (values.ListenAddress, "some-host.local:1", Address(host="some-host.local", port=1)),
        (values.Url, "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/"),
        (values.Digest, "AB" * 32, b"\xab" * 32),
    ],
)
def test_reads(form: Any, written: Any, expected: Any) -> None:
    assert read(form, written) == expected


@pytest.mark.parametrize(
    ("form", "written", "complaint"),
    [
        (values.Seconds, "5 s", "expected a duration"),
        (values.Seconds, "5d", "expected a duration"),
        (values.Seconds, "-5s", "expected a duration"),
        (values.Seconds, "0s", "above 0"),
        (values.Seconds, -1, "above 0"),
        (values.Seconds, True, "as a boolean"),
        (values.Seconds, "9000h", "at most 366 days"),
        (values.Seconds, None, "there is nothing"),
        (values.SecondsFromZero, -0.1, "from 0"),
        (values.Seconds, "\uff15s", "expected a duration"),
        (values.Bytes, "32MB", "expected a size"),
        (values.Bytes, "1.5MiB", "expected a size"),
        (values.Bytes, 1.5, "expected a size"),
        (values.Bytes, "9" * 5000 + "B", "expected a size"),
        (values.Bytes, "\uff15KiB", "expected a size"),
        (values.Bytes, 0, "above 0"),
        (values.Bytes, "2GiB", "below 2GiB"),
        (values.Count, 0, "from 1"),
        (values.Count, 1.0, "whole number"),
        (values.Count, True, "whole number"),
        (values.Count, "1", "not a text"),
        (values.FromZero, -1, "from 0"),
        (values.PositiveNumber, 0, "above 0"),
        (values.PositiveNumber, "1", "expected a number"),
        (values.PositiveNumber, float("inf"), "above 0"),
        (values.Factor, 0.99, "from 1"),
        (values.Flag, "true", "true or false"),
        (values.Flag, 1, "true or false"),
        (values.Workers, 2, "not supported"),
        (values.Text, " ", "not empty"),
        (values.Text, "a\nb", "control"),
        (values.Text, False, "in quotes"),
        (values.Name, " a", "no blank"),
        (values.Name, "a" * 257, "256"),
        (values.ListenAddress, "50051", "expected an address"),
        (values.ListenAddress, ":50051", "expected an address"),
        (values.ListenAddress, "::1:50051", "expected an address"),
        (values.ListenAddress, "[1.2.3.4]:1", "expected an address"),
        (values.ListenAddress, "[x]:1", "expected an address"),
        (values.ListenAddress, "localhost:65536", "expected an address"),
        (values.ListenAddress, "localhost:x", "expected an address"),
        (values.ListenAddress, 50051, "in quotes"),
        (values.Url, "ftp://host/", "http or https"),
        (values.Url, "api.openai.com/v1", "http or https"),
        (values.Url, "https://", "a host"),
        (values.Url, "https://host:99999", "host or port"),
        (values.Url, "https://[::1", "host or port"),
        (values.Url, "https://host/a b", "no blanks"),
        (values.Url, "https://${HOST}/", "no ${…}"),
        (values.Url, "https://host/?key=1", "without query"),
        (values.Url, "https://host/#x", "without query"),
        (values.Url, 1, "a URL"),
        (values.Digest, "ab", "64 hexadecimal"),
        (values.Digest, 5, "64 hexadecimal"),
    ],
)
def test_refuses(form: Any, written: Any, complaint: str) -> None:
    with pytest.raises(Unfit) as caught:
        read(form, written)
    assert complaint in str(caught.value)


def test_a_url_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(Unfit) as caught:
        read(values.Url, "https://user:hunter2@host/")
    assert "user or password" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    values.check_url("https://user:hunter2@host/", allow_password=True)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.1", False), ("localhost.evil.example", False)],
)  # fmt: skip
def test_loopback(host: str, *, loopback: bool) -> None:
    assert Address(host=host, port=1).is_loopback is loopback


def test_an_address_is_written_as_it_is_read() -> None:
    for written in ("127.0.0.1:5", "[::1]:5"):
        assert str(read(values.ListenAddress, written)) == written
