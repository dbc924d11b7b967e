"""Faults inside a stream, in each protocol, as bytes on a socket."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fluxrpc.simulator import Fault, Ok, Shape, Simulator
from tests.simulator.raw import PROTOCOLS, TERMINATORS, RawAnswer, RawClient, ask, request_bytes

EACH = pytest.mark.parametrize("protocol", PROTOCOLS)
ABCDE = Ok(fragments=("A1", "B2", "C3", "D4", "E5"))


def said(answer: RawAnswer) -> list[str]:
    """The fragments of ABCDE in deltas, without the repetitions in closing snapshots."""
    deltas = re.sub(rb"(?m)^event: response\.(?!output_text\.delta).*\n.*\n", b"", answer.body)
    return re.findall(r'"([A-E]\d)"', deltas.decode())


@EACH
async def test_the_whole_stream(sim: Simulator, protocol: str) -> None:
    sim.script("m", ABCDE)
    answer = await ask(sim, protocol, "m", stream=True)
    assert said(answer) == ["A1", "B2", "C3", "D4", "E5"]
    assert answer.body.count(TERMINATORS[protocol]) == 1
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert (sim.log[-1].events_sent, sim.log[-1].completed) == (5, True)


@EACH
@pytest.mark.parametrize(
    ("how", "ended"), [("close", "closed"), ("reset", "reset"), ("chunk", "closed"), ("end", "complete")]
)
async def test_cut(sim: Simulator, protocol: str, how: str, ended: str) -> None:
    for after in (9, 2, 0):
        sim.script("m", Fault("cut", after_events=after, how=how, answer=ABCDE))  # type: ignore[arg-type]  # literal
        answer = await ask(sim, protocol, "m", stream=True)
        assert (answer.status, answer.ended) == (200, ended)
        assert len(said(answer)) == min(after, 5)
        assert TERMINATORS[protocol] not in answer.body
        assert sim.log[-1].events_sent == min(after, 5)
        assert answer.body or protocol == "gemini"  # the opening frames are sent even with 0


@EACH
async def test_stall_and_cancellation(sim: Simulator, protocol: str) -> None:
    sim.script("m", Fault("stall", after_events=2, answer=ABCDE))
    client = await RawClient.connect(sim)
    answer = await client.hang(sim, request_bytes(protocol, "m", stream=True))
    assert (answer.ended, len(said(answer))) == ("open", 2)
    assert sim.log[-1].finished is None
    await client.close()
    await sim.wait_for(lambda: sim.log[-1].socket_closed_by_peer, timeout=1)
    await sim.wait_for(lambda: sim.open_connections == 0)
    sim.script("m", Fault("stall", after_events=2, seconds=0.02, answer=ABCDE))
    assert len(said(await ask(sim, protocol, "m", stream=True))) == 5


@EACH
async def test_malformed_event_among_good_ones(sim: Simulator, protocol: str) -> None:
    sim.script("m", Fault("malformed", after_events=2, answer=ABCDE))
    answer = await ask(sim, protocol, "m", stream=True)
    assert len(said(answer)) == 5
    with pytest.raises(json.JSONDecodeError):
        _ = answer.data
    assert answer.body.index(b"broken") > answer.body.index(b"B2")
    sim.script("m", Fault("malformed", data="\udcff", answer=ABCDE))
    assert b"data: \xff\n" in (await ask(sim, protocol, "m", stream=True)).body


@EACH
async def test_no_terminator(sim: Simulator, protocol: str) -> None:
    sim.script("m", Fault("no_terminator", how="end", answer=ABCDE))
    answer = await ask(sim, protocol, "m", stream=True)
    assert (answer.ended, len(said(answer))) == ("complete", 5)
    assert (TERMINATORS[protocol] in answer.body) == (protocol == "gemini")  # which has none, only a finish
    client = await RawClient.connect(sim)
    data = request_bytes(protocol, "sim-no-end-open", stream=True)
    assert (await client.hang(sim, data)).ended == "open"
    await client.close()


@EACH
@pytest.mark.parametrize("after", [0, 2])
async def test_error_event(sim: Simulator, protocol: str, after: int) -> None:
    sim.script("m", Fault("error_event", after_events=after, problem="rate_limit", answer=ABCDE, message="Too fast."))
    answer = await ask(sim, protocol, "m", stream=True)
    assert (answer.status, answer.ended, len(said(answer))) == (200, "complete", after)
    assert "Too fast." in json.dumps(answer.data[-1])
    assert [frame for frame in answer.data[:-1] if "error" in json.dumps(frame) and protocol != "responses"] == []


@EACH
async def test_odd_endings(sim: Simulator, protocol: str) -> None:
    end = TERMINATORS[protocol]
    answer = await ask(sim, protocol, "sim-double-end", stream=True)
    assert answer.body.count(end) == 2
    sim.script("m", Fault("events_after_end", answer=ABCDE))
    answer = await ask(sim, protocol, "m", stream=True)
    assert answer.body.rindex(b"E5") > answer.body.index(end)
    usage = {"stream_options": {"include_usage": True}} if protocol == "openai" else {}
    for name, expected in (("ok", True), ("sim-no-usage", False)):
        answer = await ask(sim, protocol, name, stream=True, **usage)
        counts = re.search(r'"(total_tokens|output_tokens|totalTokenCount)":\d', answer.body.decode())
        assert bool(counts) == expected, name


@EACH
async def test_unknown_event(sim: Simulator, protocol: str) -> None:
    sim.script("m", Fault("unknown_event", after_events=1, answer=ABCDE))
    answer = await ask(sim, protocol, "m", stream=True)
    assert len(said(answer)) == 5
    assert re.search(r"future|simulator\.unknown", answer.body.decode())
    assert b"future_field" in (await ask(sim, protocol, "m")).body


@EACH
async def test_shapes_mean_the_same(sim: Simulator, protocol: str) -> None:
    sim.script("m", Ok(text="naïve \N{GRINNING FACE} words"))
    plain = [_without_ids(frame) for frame in (await ask(sim, protocol, "m", stream=True)).data]
    for shape in (
        Shape(newline="\r\n"),
        Shape(newline="\r"),
        Shape(bom=True),
        Shape(multiline=True),
        Shape(comments=2),
        Shape(split_bytes=(1,)),
        Shape(split_bytes=(3, 50, 7), newline="\r\n", bom=True, multiline=True),
    ):
        sim.script("m", Ok(text="naïve \N{GRINNING FACE} words", shape=shape))
        answer = await ask(sim, protocol, "m", stream=True)
        body = answer.body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        assert answer.body.startswith(b"\xef\xbb\xbf") == shape.bom
        assert body.count(b": keep-alive") == shape.comments
        frames = RawAnswer(status=200, headers={}, body=body, ended="complete").data
        assert [_without_ids(frame) for frame in frames] == plain, shape


def _without_ids(frame: object) -> str:
    return re.sub(r"sim\d{6}|-\d{12}|\d{10}", "#", json.dumps(frame))


@EACH
async def test_pings_and_comments_before_the_first_token(sim: Simulator, protocol: str) -> None:
    answer = await ask(sim, protocol, "sim-pings-3", stream=True)
    mark = b"event: ping" if protocol == "anthropic" else b": keep-alive"
    before, _, _ = answer.body.partition(b"heard")
    assert before.count(mark) == 3 + (protocol == "anthropic")
    sim.script("m", Ok(shape=Shape(comments=2, ping_seconds=0.02)))
    await ask(sim, protocol, "m", stream=True)
    seen = sim.log[-1]
    assert seen.finished is not None
    assert seen.finished - seen.arrived >= 0.04


@EACH
async def test_big_event_and_half_surrogates(sim: Simulator, protocol: str) -> None:
    answer = await ask(sim, protocol, "sim-big-event-1048576", stream=True)
    assert b"b" * 1048576 in answer.body
    assert answer.ended == "complete"
    sim.script("m", Ok(fragments=("\ud83d", "\ude00")))
    body = (await ask(sim, protocol, "m", stream=True)).body
    assert b'"\\ud83d"' in body
    assert b'"\\ude00"' in body


@EACH
async def test_error_where_no_event_is(sim: Simulator, protocol: str) -> None:
    first = await ask(sim, protocol, "sim-error-first", stream=True)
    assert len(first.data) == 1
    assert "overloaded" in json.dumps(first.data).lower()
    sim.script("m", Fault("bare_error", after_events=2, problem="server_error", answer=ABCDE))
    bare = await ask(sim, protocol, "m", stream=True)
    assert len(said(bare)) == 2
    assert "had an error" in json.loads(bare.body.strip().rpartition(b"\n")[2]).__repr__()
    assert "had an error" not in json.dumps(bare.data)


@EACH
async def test_failed_response(sim: Simulator, protocol: str) -> None:
    stream = await ask(sim, protocol, "sim-failed-after-1", stream=True)
    unary = await ask(sim, protocol, "sim-failed-after-1")
    assert stream.ended == unary.ended == "complete"
    if protocol == "responses":
        assert stream.data[-1]["type"] == "response.failed"
        for response in (stream.data[-1]["response"], unary.json):
            assert (response["status"], response["error"]["code"]) == ("failed", "server_error")
    else:
        assert "overloaded" in stream.body.decode().lower()


@EACH
async def test_faults_of_streams_on_unary_requests(sim: Simulator, protocol: str) -> None:
    for name in ("sim-no-end", "sim-double-end", "sim-late-event", "ok"):
        answer = await ask(sim, protocol, name)
        assert "All is well." in json.dumps(answer.json), name
    broken = await ask(sim, protocol, "sim-malformed-after-1")
    with pytest.raises(json.JSONDecodeError):
        _ = broken.json
    assert "tokens" not in (await ask(sim, protocol, "sim-no-usage")).body.decode().replace("max_output_tokens", "")
    for name in ("sim-error-after-1", "sim-bare-error-after-1"):
        told = await ask(sim, protocol, name)
        assert (told.status, "overloaded" in told.body.decode().lower()) == (200, True)


@EACH
async def test_prefill(sim: Simulator, protocol: str) -> None:
    turns = [("user", "hello dear model"), ("assistant", "hello dear")]
    names = {"user": "user", "assistant": "model"}
    fields: Any = {
        "input" if protocol == "responses" else "messages": [{"role": role, "content": text} for role, text in turns]
    }
    if protocol == "gemini":
        fields = {"contents": [{"role": names[role], "parts": [{"text": text}]} for role, text in turns]}
    rest = await ask(sim, protocol, "echo", **fields)
    assert '" model"' in json.dumps(rest.json)
    rejected = await ask(sim, protocol, "sim-no-prefill", **fields)
    assert (rejected.status, "prefill" in rejected.body.decode()) == (400, True)
    assert (await ask(sim, protocol, "sim-no-prefill")).status == 200
