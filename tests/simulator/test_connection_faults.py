"""Faults before the first event, and faults of the body, as bytes on a socket."""

from __future__ import annotations

import json
import zlib

import pytest

from fluxrpc.simulator import Fault, Ok, Pace, Shape, Simulator
from tests.simulator.raw import PROTOCOLS, TERMINATORS, RawClient, ask, request_bytes

BOTH = pytest.mark.parametrize("stream", [False, True])
EACH = pytest.mark.parametrize("protocol", PROTOCOLS)


@EACH
@BOTH
async def test_no_answer(sim: Simulator, protocol: str, stream: bool) -> None:
    for name, ended in (("sim-reset", "reset"), ("sim-close", "closed")):
        answer = await ask(sim, protocol, name, stream=stream)
        assert (answer.status, answer.ended) == (0, ended)
        assert (sim.log[-1].completed, sim.log[-1].socket_closed_by_peer) == (False, False)


async def test_reset_of_a_reused_connection_only(sim: Simulator) -> None:
    sim.script("m", Fault("reset", on="reused"))
    client = await RawClient.connect(sim)
    assert (await client.send(request_bytes("openai", "m"))).status == 200
    assert (await client.send(request_bytes("openai", "m"))).ended == "reset"
    await client.close()
    assert [seen.request_of_connection for seen in sim.seen("m")] == [1, 2]
    sim.script("m", Fault("close", on="first"))
    assert (await ask(sim, "openai", "m")).ended == "closed"


@EACH
@BOTH
async def test_silence_is_noticed_when_the_peer_leaves(sim: Simulator, protocol: str, stream: bool) -> None:
    for name, status in (("sim-silent", 0), ("sim-headers-then-silent", 200)):
        client = await RawClient.connect(sim)
        answer = await client.hang(sim, request_bytes(protocol, name, stream=stream))
        assert (answer.status, answer.ended, answer.body) == (status, "open", b"")
        seen = sim.seen(name)[0]
        assert not seen.socket_closed_by_peer
        before = sim.clock()
        await client.close()
        await sim.wait_for(lambda seen=seen: seen.socket_closed_by_peer)  # type: ignore[misc]  # bound on purpose
        assert seen.socket_closed_at is not None
        assert 0 <= seen.socket_closed_at - before < 1
        assert not seen.completed


async def test_silence_may_end(sim: Simulator) -> None:
    sim.script("m", [Fault("silence", seconds=0.05), Fault("headers_then_silence", seconds=0.05)])
    for _ in range(2):
        assert (await ask(sim, "openai", "m", stream=True)).body.endswith(b"[DONE]\n\n")
        seen = sim.log[-1]
        assert seen.finished is not None
        assert seen.finished - seen.arrived >= 0.05


async def test_pace(sim: Simulator) -> None:
    sim.script("m", Ok(text="a b", pace=Pace(before_headers_seconds=0.05)))
    await ask(sim, "openai", "m")
    seen = sim.log[-1]
    assert seen.first_byte_sent is not None
    assert seen.first_byte_sent - seen.arrived >= 0.05
    sim.script("m", Ok(text="a b", pace=Pace(before_first_event_seconds=0.05, between_events_seconds=0.05)))
    await ask(sim, "openai", "m", stream=True)
    seen = sim.log[-1]
    assert seen.first_byte_sent is not None
    assert seen.finished is not None
    assert seen.finished - seen.first_byte_sent >= 0.1
    sim.script("m", Fault("overloaded", delay_seconds=0.05))
    await ask(sim, "openai", "m")
    seen = sim.log[-1]
    assert seen.first_byte_sent is not None
    assert seen.first_byte_sent - seen.arrived >= 0.05


@EACH
@BOTH
async def test_bodies_that_are_no_answer(sim: Simulator, protocol: str, stream: bool) -> None:
    told = await ask(sim, protocol, "sim-error-in-200", stream=stream)
    assert told.status == 200
    assert "overloaded" in told.body.decode().lower()
    assert "choices" not in told.json
    empty = await ask(sim, protocol, "sim-empty", stream=stream)
    assert (empty.status, empty.body, empty.ended) == (200, b"", "complete")
    page = await ask(sim, protocol, "sim-html", stream=stream)
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.body.startswith(b"<!DOCTYPE html>")
    half = await ask(sim, protocol, "sim-truncated", stream=stream)
    assert half.ended == "complete"
    with pytest.raises(json.JSONDecodeError):
        json.loads(half.body)
    whole = await ask(sim, protocol, "sim-json-for-stream", stream=stream)
    assert whole.headers["content-type"] == "application/json"
    assert "All is well." in json.dumps(whole.json)


async def test_raw_body_and_redirect(sim: Simulator) -> None:
    sim.script("m", Fault("raw_body", data="\udcff not UTF-8", status=201, content_type="text/plain"))
    answer = await ask(sim, "openai", "m")
    assert (answer.status, answer.body) == (201, b"\xff not UTF-8")
    sim.script("m", Fault("redirect", location=f"{sim.url}/elsewhere", status=302))
    answer = await ask(sim, "openai", "m")
    assert (answer.status, answer.headers["location"]) == (302, f"{sim.url}/elsewhere")
    assert (await ask(sim, "openai", "sim-redirect")).status == 307


@EACH
@BOTH
async def test_huge(sim: Simulator, protocol: str, stream: bool) -> None:
    answer = await ask(sim, protocol, "sim-huge-body-300000", stream=stream)
    assert answer.ended == "complete"
    assert answer.body.count(b"h" * 100) >= 2900
    if not stream:
        assert "h" * 300000 in json.dumps(answer.json)
    answer = await ask(sim, protocol, "sim-huge-headers-70000", stream=stream)
    assert len(answer.headers["x-huge"]) == 70000


async def test_a_slow_reader_holds_the_writer(sim: Simulator) -> None:
    client = await RawClient.connect(sim)
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # asyncio types the write half only
    client.writer.write(request_bytes("openai", f"sim-huge-body-{1 << 26}"))
    await sim.wait_for(lambda: sim.log and sim.log[-1].is_held_back)
    assert sim.log[-1].bytes_sent < 1 << 25
    client.writer.transport.resume_reading()  # type: ignore[attr-defined]  # likewise
    await client.reader.readexactly(1 << 25)
    await client.close()
    await sim.wait_for(lambda: sim.log[-1].socket_closed_by_peer)


@EACH
@BOTH
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_encoded_body(sim: Simulator, protocol: str, stream: bool, encoding: str) -> None:
    answer = await ask(sim, protocol, f"sim-{encoding}", stream=stream)
    assert answer.headers["content-encoding"] == encoding
    body = zlib.decompress(answer.body, wbits=31 if encoding == "gzip" else 15)
    assert (TERMINATORS[protocol] in body) if stream else json.loads(body)


@EACH
async def test_unary_cut_and_stall(sim: Simulator, protocol: str) -> None:
    for name, ended in (
        ("sim-cut-after-1", "closed"),
        ("sim-cut-after-1-reset", "reset"),
        ("sim-cut-after-1-chunk", "closed"),
        ("sim-cut-after-1-end", "complete"),
    ):
        answer = await ask(sim, protocol, name)
        assert (answer.status, answer.ended) == (200, ended), name
    client = await RawClient.connect(sim)
    answer = await client.hang(sim, request_bytes(protocol, "sim-stall-after-1"))
    assert (answer.status, answer.ended) == (200, "open")
    await client.close()
    sim.script("m", Fault("stall", seconds=0.01))
    assert "All is well." in json.dumps((await ask(sim, protocol, "m")).json)


async def test_chunked_request_expect_and_close(sim: Simulator) -> None:
    head, _, body = request_bytes("openai", "echo").partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"content-length")]
    head = b"\r\n".join([*lines, b"transfer-encoding: chunked", b"expect: 100-continue", b"connection: close"])
    client = await RawClient.connect(sim)
    client.writer.write(head + b"\r\n\r\n")
    assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    answer = await client.send(b"%x\r\n%b\r\n5;ext=1\r\n     \r\n0\r\n\r\n" % (len(body), body))
    assert answer.status == 200
    assert await client.reader.read() == b""
    assert sim.log[-1].body == body + b"     "
    await client.close()


async def test_split_sizes_take_turns(sim: Simulator) -> None:
    sim.script("m", Ok(text="\N{GRINNING FACE} é", shape=Shape(split_bytes=(1, 2, 5))))
    answer = await ask(sim, "openai", "m", stream=True)
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in answer.data) == "\N{GRINNING FACE} é"
    assert sim.log[-1].events_sent == 2
