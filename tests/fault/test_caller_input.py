"""Bad bytes and hostile input: the caller's own mistake is told with its place, and no other host is ever asked."""

from __future__ import annotations

import json
from collections.abc import Callable

import grpc
import pytest

from fluxrpc.simulator import Simulator
from tests.fault.world import STREAMS, UNARY, Way, request_for, route, world
from tests.support.asking import PROTOCOLS, body_of, failure, native

MIB = 1024 * 1024
INVALID, EXHAUSTED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED


def _with(protocol: str, field: bytes) -> bytes:
    """A sound body with one more field, as bytes that `json` would not write."""
    return b"{" + field + b"," + json.dumps(body_of(protocol)).encode()[1:]


def _prompt(protocol: str, text: bytes) -> bytes:
    return json.dumps(body_of(protocol, "@@")).encode().replace(b"@@", text)


# What is refused before any provider is asked.
REFUSED: dict[str, Callable[[str], bytes]] = {
    "empty": lambda protocol: b"",
    "not JSON": lambda protocol: b"hello",
    "half": lambda protocol: json.dumps(body_of(protocol)).encode()[:-9],
    "two values": lambda protocol: json.dumps(body_of(protocol)).encode() * 2,
    "a list": lambda protocol: b"[" + json.dumps(body_of(protocol)).encode() + b"]",
    "a number": lambda protocol: b"17",
    "NaN": lambda protocol: _with(protocol, b'"temperature":NaN'),
    "Infinity": lambda protocol: _with(protocol, b'"temperature":-Infinity'),
    "deep lists": lambda protocol: _with(protocol, b'"x":' + b"[" * 100_000 + b"]" * 100_000),
    "deep objects": lambda protocol: _with(protocol, b'"x":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "lone surrogate": lambda protocol: _prompt(protocol, b"\\ud83d"),
    "surrogates in wrong order": lambda protocol: _prompt(protocol, b"\\udc00\\ud83d"),
    "not UTF-8": lambda protocol: _prompt(protocol, b"\xff\xfe"),
    "NUL bytes": lambda protocol: b"\x00" * 64,
}
# Legal JSON, however odd: it is the provider's business, byte by byte.
PASSED: dict[str, Callable[[str], bytes]] = {
    "huge integer": lambda protocol: _with(protocol, b'"seed":' + b"9" * 5000),
    "huge exponent": lambda protocol: _with(protocol, b'"seed":1e999999'),
    "duplicate keys": lambda protocol: _with(protocol, b'"seed":1,"seed":2'),
    "escaped pair": lambda protocol: _prompt(protocol, b"\\ud83d\\ude00"),
    "escaped NUL": lambda protocol: _prompt(protocol, b"a\\u0000b"),
}


@pytest.mark.parametrize("mode", ["unary", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_f43_bad_bytes_are_the_caller_s_fault(sim: Simulator, protocol: str, mode: str) -> None:
    way = Way(protocol, mode)
    async with world(sim, route("m1")) as here:
        for name, make in REFUSED.items():
            told = await here.ask(way, body=make(protocol))
            assert (name, told.code, told.reason) == (name, INVALID, "INVALID_REQUEST")
            assert told.attempts == []
        assert sim.log == []
        assert (await here.ask(way)).is_complete


@pytest.mark.parametrize("mode", ["unary", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_f43_odd_but_legal_bytes_pass_untouched(sim: Simulator, protocol: str, mode: str) -> None:
    way = Way(protocol, mode)
    async with world(sim, route("m1")) as here:
        for name, make in PASSED.items():
            body = make(protocol)
            told = await here.ask(way, body=body)
            assert told.code in (grpc.StatusCode.OK, INVALID), name
            # Whatever this provider thinks of it, it got the caller's own bytes.
            assert sim.log[-1].body.endswith(body[1:]), name


@pytest.mark.parametrize("protocol", [protocol for protocol in PROTOCOLS if protocol != "gemini"])
async def test_f43_two_models_are_one_too_many(sim: Simulator, protocol: str) -> None:
    async with world(sim, route("m1")) as here:
        body = _with(protocol, b'"model":"a","model":"b"')
        failed = await failure(here.server.stub.Execute(native(protocol, "m", body)))
        assert failed.code is INVALID
        assert failed.bad_request is not None
        assert failed.bad_request.field_violations[0].field == "model"
        assert sim.log == []


async def test_f43_typed_text_with_half_a_surrogate_pair_cannot_even_be_sent(sim: Simulator) -> None:
    with pytest.raises(UnicodeEncodeError):
        request_for(Way("typed", "unary"), prompt="\ud83d")
    async with world(sim, route("m1")) as here:
        request = request_for(Way("typed", "unary"))
        request.message.messages[0].parts.add(text="both text and parts")
        failed = await failure(here.server.stub.Execute(request))
        assert failed.code is INVALID
        assert failed.bad_request is not None
        assert failed.bad_request.field_violations[0].field.startswith("message.messages[0]")


@pytest.mark.parametrize("way", [UNARY[0], STREAMS[1]], ids=str)
async def test_f43_fifty_mebibytes_are_too_large(sim: Simulator, way: Way) -> None:
    async with world(sim, route("m1")) as here:
        told = await here.ask(way, body=_prompt(way.form, b"a" * (50 * MIB)))
        assert told.code is EXHAUSTED
        assert sim.log == []
        assert (await here.ask(way)).is_complete


@pytest.mark.parametrize("value", ["a\r\nhost: elsewhere", "a\nx: y", "a\x00b", "a\rb", "naïve"])
async def test_f44_a_header_cannot_carry_another(sim: Simulator, value: str) -> None:
    async with world(sim, route("m1")) as here:
        told = await here.ask(Way("anthropic", "unary"), headers={"anthropic-beta": value})
        assert (told.code, told.reason) == (INVALID, "INVALID_REQUEST")
        assert sim.log == []


async def test_f44_only_listed_headers_pass(sim: Simulator) -> None:
    hostile = {"host": "elsewhere", "x-api-key": "stolen", "authorization": "Bearer stolen", "content-length": "3"}
    async with world(sim, route("m1")) as here:
        told = await here.ask(Way("anthropic", "unary"), headers={**hostile, "anthropic-beta": "files-api"})
        assert told.is_complete
        sent = sim.log[0].headers
        assert sent["host"] == f"127.0.0.1:{sim.port}"
        assert sent["anthropic-beta"] == "files-api"
        assert "stolen" not in str(sent)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_f44_other_hosts_in_a_body_are_only_text(sim: Simulator, protocol: str) -> None:
    async with Simulator() as elsewhere, world(sim, route("m1")) as here:
        other = elsewhere.url
        fields = {"base_url": other, "api_base": other, "url": other, "host": other, "proxy": other, "location": other}
        told = await here.ask(Way(protocol, "unary"), body=json.dumps(body_of(protocol, **fields)).encode())
        assert told.code in (grpc.StatusCode.OK, INVALID)
        assert len(sim.log) == 1
        assert sim.log[0].headers["host"] == f"127.0.0.1:{sim.port}"
        # As a name of a model it is the name of no model.
        told = await here.ask(Way(protocol, "unary"), model=f"{other}/v1")
        assert (told.code, told.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_MODEL")
        assert elsewhere.log == []
        assert elsewhere.open_connections == 0


NAMES = (
    "../../evil",
    "a/b",
    "m\r\nx: y",
    "m?key=1",
    "m#x",
    "m%2fx",
    "//evil.example/m",
    "@evil.example",
    "\u202em",
    " ",
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_f44_a_name_that_nobody_configured_leads_nowhere(sim: Simulator, protocol: str) -> None:
    async with world(sim, route("m1")) as here:
        for name in NAMES:
            told = await here.ask(Way(protocol, "unary"), model=name)
            assert told.code in (grpc.StatusCode.NOT_FOUND, INVALID), name
        assert sim.log == []


@pytest.mark.parametrize("mode", ["unary", "stream"])
async def test_f44_a_configured_name_stays_one_segment_of_the_path(sim: Simulator, mode: str) -> None:
    # Gemini's model stands in the path: what the name holds must not become part of the address. `Seen.path` is decoded
    # once, so a name that comes out whole, beside an unchanged query, went in escaped and was not resolved on the way.
    for name in ("../../evil", "m?key=1", "m#x", "m%2fx", "@evil.example", "//evil.example/m"):
        async with world(sim, route("odd", name="odd") | {"model": name}) as here:
            before = len(sim.log)
            await here.ask(Way("gemini", mode))
            assert len(sim.log) == before + 1
            seen = sim.log[-1]
            method = ":streamGenerateContent" if mode == "stream" else ":generateContent"
            assert seen.headers["host"] == f"127.0.0.1:{sim.port}"
            assert seen.path == f"/v1beta/models/{name}{method}"
            assert seen.query == ("alt=sse" if mode == "stream" else "")
