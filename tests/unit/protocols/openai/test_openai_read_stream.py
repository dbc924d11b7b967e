"""Streams of OpenAI Chat Completions into events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.ir.accumulate import accumulate
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.envelope import seal
from fluxrpc.v1.protocol_pb2 import OpaqueState
from fluxrpc.v1.stream_pb2 import StreamEvent
from tests.unit.protocols.openai.chat_ways import DONE, OPENAI, chunk, context_of, read_answer, read_events


def words(events: list[StreamEvent]) -> list[str]:
    """The events, one short line each."""
    lines = []
    for event in events:
        kind = event.WhichOneof("event") or ""
        value = getattr(event, kind)
        match kind:
            case "part_start":
                lines.append(f"start {value.choice_index}.{value.part_index} {value.part.WhichOneof('kind')}")
            case "part_delta":
                delta = value.WhichOneof("delta")
                lines.append(f"{delta} {value.choice_index}.{value.part_index} {getattr(value, delta)}")
            case "part_stop":
                lines.append(f"stop {value.choice_index}.{value.part_index}")
            case "finish":
                lines.append(f"finish {value.choice_index} {value.raw} {value.reason}")
            case _:
                lines.append(kind)
    return lines


def fragment(at: int | None, identity: str = "", name: str = "", arguments: Any = "", **more: Any) -> dict[str, Any]:
    """A fragment of a call."""
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    call: dict[str, Any] = {"function": function, **more}
    if at is not None:
        call["index"] = at
    if identity:
        call |= {"id": identity, "type": "function"}
    return {"tool_calls": [call]}


def test_a_stream() -> None:
    stream = OPENAI.read_stream(StreamOptions(), context_of(stream=True))
    opening = stream.feed(chunk({"role": "assistant", "content": ""}))
    assert words(list(opening.events)) == ["response_start"]
    assert not opening.real
    batch = stream.feed(
        chunk({"reasoning_content": "hm"})
        + chunk({"content": "a\ud83d"})
        + chunk({"content": "\ude00b"})
        + chunk({"content": "z"}, index=1)
        + chunk({"refusal": "no"}, "stop")
    )
    assert batch.real
    assert words(list(batch.events)) == [
        "start 0.0 reasoning",
        "reasoning 0.0 hm",
        "stop 0.0",
        "start 0.1 text",
        "text 0.1 a",
        "text 0.1 😀b",
        "start 1.0 text",
        "text 1.0 z",
        "stop 0.1",
        "start 0.2 refusal",
        "refusal 0.2 no",
        "stop 0.2",
    ]
    assert not stream.finished
    last = stream.feed(
        chunk({"content": "\ud83d", **fragment(0, "c1", "f", "{}")}, index=1)
        + chunk({}, "stop", index=1)
        + b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
        + DONE
    )
    assert words(list(last.events)) == [
        "text 1.0 \ufffd",
        "stop 1.0",
        "start 1.1 tool_call",
        "arguments 1.1 {}",
        "stop 1.1",
        "usage",
        "finish 0 stop 8",
        "finish 1 stop 6",
    ]
    assert last.ended
    assert (stream.served_model, stream.finished) == ("m", True)
    assert stream.usage is not None
    assert stream.usage.total_tokens == 3
    assert [note.code for note in stream.notes] == ["LONE_SURROGATE"]


def test_a_stream_without_terminator() -> None:
    assert words(read_events(chunk({"content": "x"}, "stop")))[-2:] == ["stop 0.0", "finish 0 stop 2"]


def test_a_stream_that_is_cut() -> None:
    stream = OPENAI.read_stream(StreamOptions(), context_of(stream=True))
    stream.feed(chunk({"content": "x"}) + chunk(None))
    assert isinstance(stream.close().error, AnswerFault)


@pytest.mark.parametrize("body", [b'data: {"error":{"message":"m"}}\n\n', b'{"error":{"message":"m"}}'])
def test_a_stream_that_fails(body: bytes) -> None:
    stream = OPENAI.read_stream(StreamOptions(), context_of(stream=True))
    error = stream.feed(body).error or stream.close().error
    assert isinstance(error, ProviderError)


CALLS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str, str]]]] = {
    "two": (
        [fragment(0, "c1", "f"), fragment(0, arguments='{"a"'), fragment(0, arguments=":1}"), fragment(1, "c2", "g")],
        [("c1", "f", '{"a":1}'), ("c2", "g", "")],
    ),
    "repeated id and name": (
        [fragment(0, "c1", "f"), fragment(0, "c1", "f", "{"), fragment(0, "c1", "f", "}")],
        [("c1", "f", "{}")],
    ),
    "one index, two ids": (
        [fragment(0, "c1", "f", "{}"), fragment(0, "c2", "g", "[]"), fragment(0, "c1", "f")],
        [("c1", "f", "{}"), ("c2", "g", "[]")],
    ),
    "no index": (
        [fragment(None, "c1", "f", "{"), fragment(None, arguments="}"), fragment(None, "c2", "g", "{}")],
        [("c1", "f", "{}"), ("c2", "g", "{}")],
    ),
    "no index, repeated id": (
        [fragment(None, "c1", "f", "{"), fragment(None, "c1", arguments="}")],
        [("c1", "f", "{}")],
    ),
    "no id": (
        [fragment(0, "", "f", "{}"), fragment(1, "", "g")],
        [("call_gw_0_0", "f", "{}"), ("call_gw_0_1", "g", "")],
    ),
    "neither": ([fragment(None, arguments="{}")], [("call_gw_0_0", "", "{}")]),
    "object": ([fragment(0, "c1", "f", {"a": 1})], [("c1", "f", '{"a":1}')]),
    "legacy": (
        [{"function_call": {"name": "f", "arguments": "{"}}, {"function_call": {"arguments": "}"}}],
        [("call_gw_0_0", "f", "{}")],
    ),
    "bare": ([{"tool_calls": [{"index": 0, "id": "c1"}]}], [("c1", "", "")]),
}


@pytest.mark.parametrize(("parts", "expected"), CALLS.values(), ids=list(CALLS))
def test_calls(parts: list[dict[str, Any]], expected: list[tuple[str, str, str]]) -> None:
    [choice] = accumulate(read_events(*map(chunk, parts), chunk({}, "tool_calls"))).choices
    calls = [part.tool_call for part in choice.parts]
    assert [(call.id, call.name, call.arguments_json) for call in calls] == expected


def test_custom_calls() -> None:
    first = {"tool_calls": [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "g", "input": "a"}}]}
    second = {"tool_calls": [{"index": 0, "custom": {"input": "b"}}]}
    [choice] = accumulate(read_events(chunk(first), chunk(second, "stop"))).choices
    assert (choice.parts[0].tool_call.name, choice.parts[0].tool_call.custom_text) == ("g", "ab")


def test_a_fragment_that_cannot_be_placed() -> None:
    stream = OPENAI.read_stream(StreamOptions(), context_of(stream=True))
    late = [fragment(0, "c1", "f", "{"), fragment(1, "c2", "g"), fragment(0), fragment(0, arguments="}")]
    batch = stream.feed(b"".join(map(chunk, late)))
    assert isinstance(batch.error, AnswerFault)
    assert "call 0" in str(batch.error)


DETAIL = {"type": "reasoning.encrypted", "data": "QUJD", "index": 0}
SEALED = OpaqueState(origin=2, kind=2, value=b"sig")  # type: ignore[arg-type]  # anthropic, a signature
MESSAGES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "reasoning": (
        [{"reasoning": "h"}, {"reasoning": "m", "reasoning_details": [DETAIL]}, {"content": "a"}],
        {"reasoning": "hm", "reasoning_details": [DETAIL], "content": "a"},
    ),
    "reasoning in details": (
        [{"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}],
        {"reasoning_content": "hm"},
    ),
    "state alone": ([{"reasoning_details": [DETAIL]}], {"reasoning_details": [DETAIL]}),
    "odd reasoning": ([{"reasoning_details": [5], "content": "a"}], {"content": "a"}),
    "blocks": (
        [{"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}],
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
    ),
    "envelope": (
        [{"reasoning_details": [{"type": "reasoning.encrypted", "data": seal(SEALED)}]}],
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": seal(SEALED)}]},
    ),
    "pieces": ([{"content": [{"type": "text", "text": "a"}, {"text": None}]}, {"content": "b"}], {"content": "ab"}),
    "signed call": (
        [fragment(0, "c1", "f", "{}", extra_content={"google": {"thought_signature": "QUJD"}})],
        fragment(0, "c1", "f", "{}", extra_content={"google": {"thought_signature": "QUJD"}}),
    ),
    "signed text": (
        [{"content": "a"}, {"extra_content": {"google": {"thought_signature": "QUJD"}}}],
        {"content": "a", "extra_content": {"google": {"thought_signature": "QUJD"}}},
    ),
    "bare signature": (
        [{"extra_content": {"google": {"thought_signature": "QUJD"}}}],
        {"extra_content": {"google": {"thought_signature": "QUJD"}}},
    ),
    "no signature": ([{"content": "a", "extra_content": {"x": 1}}], {"content": "a"}),
    "citation": (
        [{"content": "a"}, {"annotations": [{"type": "url_citation", "url_citation": {"url": "https://x"}}]}],
        {"content": "a", "annotations": [{"type": "url_citation", "url_citation": {"url": "https://x"}}]},
    ),
}


@pytest.mark.parametrize(("parts", "message"), MESSAGES.values(), ids=list(MESSAGES))
def test_a_stream_says_what_the_whole_answer_says(parts: list[dict[str, Any]], message: dict[str, Any]) -> None:
    for call in message.get("tool_calls", ()):
        call.pop("index", None)
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    streamed = accumulate(read_events(*map(chunk, parts), chunk({}, "stop")))
    assert list(streamed.choices) == list(read_answer(whole).choices)


def logged(text: str, key: str = "content", field: str = "content") -> bytes:
    entry = {"token": text, "logprob": -1, "bytes": [*text.encode()], "top_logprobs": []}
    return chunk({field: text}, choice={"logprobs": {key: [entry]}})


def test_probabilities() -> None:
    events = read_events(
        logged("a"),
        logged("b"),
        chunk({"content": "c"}, choice={"logprobs": 5}),
        logged("n", "refusal", "refusal"),
        logged("x", "content", "refusal"),
        chunk({}, "stop"),
    )
    parts = accumulate(events).choices[0].parts
    assert [[each.token for each in part.logprobs] for part in parts] == [["a", "b"], ["n"]]


def test_sound() -> None:
    events = read_events(
        chunk({"audio": {"id": "audio_1", "transcript": "h"}}),
        chunk({"audio": {"data": "QUJD"}}),
        chunk({"audio": {"data": "RA==", "transcript": "i"}}),
        chunk({"audio": {"expires_at": 9}}),
        chunk({"content": "x"}),
        chunk({"audio": {"expires_at": 9}}),
        chunk({"audio": [5]}),
        chunk({}, "stop"),
    )
    first, second = accumulate(events).choices[0].parts
    assert (first.audio.data, first.audio.transcript, second.text) == (b"ABCD", "hi", "x")
    assert {extra.key: extra.value_json for extra in first.extras} == {"id": '"audio_1"', "expires_at": "9"}


def test_the_head_of_a_stream() -> None:
    [start, *_] = read_events(
        chunk({"content": "x"}, system_fingerprint="fp", service_tier="flex", obfuscation="aB3"), chunk({}, "stop")
    )
    head = start.response_start
    assert (head.id, head.model, head.created.seconds, head.service_tier) == ("c1", "m", 7, 4)
    assert [(extra.key, extra.value_json) for extra in head.extras] == [("system_fingerprint", '"fp"')]


def test_events_that_only_this_protocol_has() -> None:
    filters = {"id": "", "choices": [], "prompt_filter_results": [{"x": "\ud800"}], "usage": None}
    events = read_events(
        b"data: " + json.dumps(filters).encode() + b"\n\n",
        b'data: {"choices":[],"obfuscation":"x","object":"y"}\n\n',
        chunk({"content": "x"}, "stop"),
    )
    assert events[0].response_start.model == "m"
    assert json.loads(events[1].raw.data_json)["prompt_filter_results"] == [{"x": "\ufffd"}]
    late = read_events(chunk({"content": "x"}), b'data: {"choices":[],"moderation":{}}\n\n', chunk({}, "stop"))
    assert [json.loads(event.raw.data_json) for event in late if event.HasField("raw")] == [
        {"choices": [], "moderation": {}}
    ]


def test_halves_of_pairs_outside_of_text_are_replaced() -> None:
    half = "\ud800"
    events = read_events(
        chunk(
            {"reasoning_content": "a", "reasoning_details": [{"data": half}]},
            service_tier=half,
            system_fingerprint=half,
        ),
        chunk(fragment(0, half, half, {"a": half})),
        chunk({}, half, usage={"prompt_tokens": 1, "x": half}),
    )
    assert all(event.SerializeToString() for event in events)
    assert accumulate(events).choices[0].finish.raw == "\ufffd"


def test_some_copies_go_on_after_a_finish() -> None:
    events = read_events(chunk({"content": "a"}, "stop"), chunk({"content": "b"}, "length"), DONE)
    [choice] = accumulate(events).choices
    assert ([part.text for part in choice.parts], choice.finish.raw) == (["a", "b"], "length")
