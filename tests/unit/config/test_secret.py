from __future__ import annotations

import copy
import json
import pickle
import traceback
from dataclasses import asdict, dataclass

import msgspec
import pytest

from fluxrpc.config.secret import MAX_SECRET_BYTES, ProxyUrl, Secret, SecretSource, SecretUnusable

SENTINEL = "SENTINEL-KEY-123"


@dataclass(frozen=True, slots=True)
class Holder:
    secret: Secret


def source(environ: dict[str, str] | None = None, files: dict[str, bytes] | None = None) -> SecretSource:
    def read(path: str) -> bytes:
        try:
            return (files or {})[path]
        except KeyError:
            raise FileNotFoundError(2, "No such file or directory") from None

    return SecretSource(environ or {}, read)


def test_a_secret_never_shows_itself() -> None:
    secret = Secret(SENTINEL, "${KEY}")
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", f"{secret!r}", f"{secret}", repr(Holder(secret)),
             repr(asdict(Holder(secret))), repr(ProxyUrl(SENTINEL, "url")), repr(vars(Secret))]  # fmt: skip
    assert all(SENTINEL not in text for text in shown)
    assert repr(secret) == "Secret(${KEY})"
    assert secret.reveal() == SENTINEL
    assert not hasattr(secret, "__dict__")


@pytest.mark.parametrize("serialise", [pickle.dumps, json.dumps, msgspec.json.encode, msgspec.to_builtins])
def test_a_secret_is_not_serialised(serialise: object) -> None:
    with pytest.raises(TypeError) as caught:
        serialise(Secret(SENTINEL))  # type: ignore[operator]
    assert SENTINEL not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(TypeError):
        Secret(SENTINEL).__getstate__()


def test_equal_values_are_equal_wherever_they_come_from() -> None:
    one, two = Secret("a", "${A}"), Secret("a", "file b")
    assert one == two
    assert hash(one) == hash(two)
    assert one != Secret("b", "${A}")
    assert one != "a"
    assert copy.copy(one) is one
    assert copy.deepcopy(one) is one


def test_references_are_resolved() -> None:
    here = source({"KEY": "k 1"}, {"/run/key": b"abc\n", "/run/windows": b"abc\r\n", "/run/two": b"abc"})
    assert here.from_reference("${KEY}").reveal() == "k 1"
    assert here.from_reference("${KEY}").source == "${KEY}"
    for path in ("/run/key", "/run/windows", "/run/two"):
        assert here.from_file(path).reveal() == "abc"
    assert here.from_file("/run/key").source == "file /run/key"


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        (SENTINEL, "do not stand in this file"),
        ("${KEY", "do not stand in this file"),
        ("x${EMPTY}", "do not stand in this file"),
        ("${ABSENT}", "ABSENT is not set"),
        ("${EMPTY}", "${EMPTY} is empty"),
        ("${BREAK}", "${BREAK} holds"),
        ("${BLANK}", "${BLANK} holds"),
        ("${FOREIGN}", "${FOREIGN} holds"),
    ],
)
def test_an_unusable_reference_is_named_and_its_value_is_not(reference: str, complaint: str) -> None:
    environ = {
        "EMPTY": "", "BREAK": f"{SENTINEL}\r\nx-evil: 1", "BLANK": f"{SENTINEL} ", "FOREIGN": f"{SENTINEL}ä",
    }  # fmt: skip
    with pytest.raises(SecretUnusable) as caught:
        source(environ).from_reference(reference)
    assert complaint in str(caught.value)
    assert SENTINEL not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read: No such file"),
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\xff\xfe", "UTF-8"),
        (b"a\nb\n", "line breaks"),
        (b"a" * (MAX_SECRET_BYTES + 1), "64 KiB"),
    ],
)
def test_an_unusable_file_is_named(content: bytes | None, complaint: str) -> None:
    with pytest.raises(SecretUnusable) as caught:
        source(files={} if content is None else {"/run/key": content}).from_file("/run/key")
    assert complaint in str(caught.value)
    assert "/run/key" in str(caught.value)
