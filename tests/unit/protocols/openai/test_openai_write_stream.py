"""Events as a stream of OpenAI Chat Completions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.envelope import seal
from fluxrpc.v1.protocol_pb2 import OpaqueState
from fluxrpc.v1.response_pb2 import MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent
from tests.unit.protocols.openai.chat_ways import DONE, NOW, chunk, deltas, read_events, write_events

Notes = list[tuple[str, str, str]]
ROLE = {"role": "assistant", "content": ""}


def event(**fields: Any) -> StreamEvent:
    return ParseDict(fields, StreamEvent())


def start(part: dict[str, Any], at: int = 0, **more: Any) -> StreamEvent:
    return event(part_start={"part_index": at, "part": part}, **more)


def grow(at: int = 0, **delta: Any) -> StreamEvent:
    return event(part_delta={"part_index": at, **delta})


def stop(at: int = 0, **more: Any) -> StreamEvent:
    return event(part_stop={"part_index": at, **more})


def finish(reason: str = "STOP") -> StreamEvent:
    return event(finish={"reason": f"FINISH_REASON_{reason}"})


HEAD = event(response_start={"id": "x", "model": "g", "created": "1970-01-01T00:00:01Z"})
END = finish()


def called(at: int, **function: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": at, "function": function}]}


def opened(at: int, identity: str, name: str, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": ""}
    return {"tool_calls": [{"index": at, "id": identity, "type": "function", "function": function, **more}]}


STATE = {"origin": "PROTOCOL_ANTHROPIC", "kind": "OPAQUE_KIND_SIGNATURE", "value": "c2ln"}
SIGNATURE = {"origin": "PROTOCOL_GEMINI", "kind": "OPAQUE_KIND_SIGNATURE", "value": "UVVKRA=="}
SEALED = OpaqueState(origin=2, kind=2, value=b"sig")  # type: ignore[arg-type]  # anthropic, a signature


def envelope(at: int = 0) -> dict[str, Any]:
    return {
        "reasoning_details": [{"type": "reasoning.encrypted", "data": seal(SEALED), "format": "fluxrpc", "index": at}]
    }


def annotation(at: int, first: int, last: int, url: str) -> dict[str, Any]:
    details = {"start_index": first, "end_index": last, "title": "", "url": url}
    return {"annotations": [{"type": "url_citation", "url_citation": details, "index": at}]}


SIGNED = {"extra_content": {"google": {"thought_signature": "QUJD"}}}
TOKEN = {"token": "a", "bytes": [97], "logprob": -1}


def dropped(code: str, path: str) -> tuple[str, str, str]:
    return (code, "DROPPED", path)


CASES: dict[str, tuple[list[StreamEvent], list[Any], Notes]] = {
    "thinking, text, call": (
        [
            start({"reasoning": {}}), grow(reasoning="hm"), grow(opaque=STATE), stop(),
            start({"text": ""}, 1), grow(1, text="O"), grow(1, text="k"), stop(1),
            start({"tool_call": {"id": "c1", "name": "f"}}, 2), grow(2, arguments='{"a"'), grow(2, arguments=":1}"),
            stop(2),
            start({"tool_call": {"id": "c2", "name": "g"}}, 3), grow(3, arguments=""), stop(3),
            finish("TOOL_CALLS"),
        ],
        [
            ROLE, {"reasoning_content": "hm"}, envelope(), {"content": "O"}, {"content": "k"},
            opened(0, "c1", "f"), called(0, arguments='{"a"'), called(0, arguments=":1}"),
            opened(1, "c2", "g"), called(1, arguments="{}"),
            "tool_calls",
        ],
        [],
    ),
    "whole in the start": (
        [
            start({"text": "a", "citations": [{"sources": [{"url": "https://x"}]}], "opaque": [SIGNATURE]}), stop(),
            start({"reasoning": {"text": "a", "summaries": ["b"]}}, 1), stop(1),
            start({"refusal": "no"}, 2), stop(2),
            start({"tool_call": {"id": "c", "name": "f", "arguments_json": "{}"}, "opaque": [SIGNATURE]}, 3), stop(3),
            start({"tool_call": {"id": "d", "name": "f", "arguments_json": "{}"}, "opaque": [STATE]}, 4), stop(4),
            finish("REFUSAL"),
        ],
        [
            ROLE, {"content": "a"},
            SIGNED,
            annotation(0, 0, 1, "https://x"),
            {"reasoning_content": "a\n\nb"},
            {"refusal": "no"},
            {"tool_calls": [{
                "index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, **SIGNED
            }]},
            {"tool_calls": [{"index": 1, "id": "d", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            envelope(),
            "stop",
        ],
        [("CITATION_SPAN", "APPROXIMATED", "choices[0].parts[0].citations")],
    ),
    "whole in the stop": (
        [
            start({"text": ""}), stop(part={"text": "a", "opaque": [STATE]}),
            start({"reasoning": {}}, 1), stop(1, part={"reasoning": {"text": "a"}}),
            start({"tool_call": {"id": "c", "name": "f"}}, 2),
            stop(2, part={"tool_call": {"id": "c", "name": "f", "arguments_json": '{"a":1}'}}),
            start({"tool_call": {"id": "d", "name": "f"}}, 3), stop(3, part={"tool_call": {"id": "d", "name": "f"}}),
            start({"text": ""}, 4), grow(4, text="b"), stop(4, part={"text": "b"}),
            start({"audio": {"data": "QUJD", "mime_type": "audio/wav"}}, 5),
            stop(5, part={"audio": {"data": "QUJD", "mime_type": "audio/wav"}}),
            END,
        ],
        [
            ROLE, {"content": "a"}, envelope(), {"reasoning_content": "a"},
            opened(0, "c", "f"), called(0, arguments='{"a":1}'),
            opened(1, "d", "f"), called(1, arguments="{}"),
            {"content": "b"},
            {"audio": {"id": "audio_choices[0].parts[5]", "data": "QUJD", "expires_at": NOW + 3600}},
            "stop",
        ],
        [],
    ),
    "signatures in deltas": (
        [
            start({"text": ""}), grow(text="a"), grow(opaque=SIGNATURE), stop(),
            start({"tool_call": {"id": "c", "name": "f"}}, 1), grow(1, opaque=SIGNATURE), stop(1),
            start({"reasoning": {}}, 2), grow(2, opaque=STATE), stop(2),
            END,
        ],
        [
            ROLE, {"content": "a"}, SIGNED,
            opened(0, "c", "f"), {"tool_calls": [{"index": 0, "function": {"arguments": ""}, **SIGNED}]},
            called(0, arguments="{}"),
            envelope(),
            "stop",
        ],
        [],
    ),
    "summaries": (
        [
            start({"reasoning": {}}),
            grow(summary={"summary_index": 0, "text": "a"}), grow(summary={"summary_index": 0, "text": "b"}),
            grow(summary={"summary_index": 1, "text": "c"}),
            stop(),
            start({"reasoning": {}}, 1), grow(1, summary={"summary_index": 1, "text": "d"}), stop(1),
            END,
        ],
        [
            ROLE, {"reasoning_content": "a"}, {"reasoning_content": "b"}, {"reasoning_content": "\n\nc"},
            {"reasoning_content": "d"},
            "stop",
        ],
        [],
    ),
    "items": (
        [
            start({"text": "", "item_id": "a", "phase": "TEXT_PHASE_COMMENTARY"}), grow(text="ab"), stop(),
            start({"text": "", "item_id": "b"}, 1), grow(1, citation={"sources": [{"url": "https://x"}]}),
            grow(1, text="c"),
            grow(0, citation={"start": 1, "end": 2, "sources": [{"url": "https://y"}]}),
            grow(1, citation={"sources": [{"id": "d"}]}),
            stop(1),
            start({"text": "", "item_id": "b"}, 2), grow(2, text="d"),
            grow(0, citation={"sources": [{"url": "https://z"}]}),
            stop(2),
            END,
        ],
        [
            ROLE, {"content": "ab"}, {"content": "\n\n"}, {"content": "c"},
            annotation(0, 1, 2, "https://y"), annotation(1, 4, 5, "https://x"),
            {"content": "d"},
            annotation(2, 0, 2, "https://z"),
            "stop",
        ],
        [
            dropped("TEXT_PHASE", "choices[0].parts[0].phase"),
            ("CITATION_SPAN", "APPROXIMATED", "choices[0].parts[1].citations"),
            dropped("CITATION", "choices[0].parts[1].citations"),
            ("CITATION_SPAN", "APPROXIMATED", "choices[0].parts[0].citations"),
        ],
    ),
    "a plan": (
        [
            start({"text": "", "phase": "TEXT_PHASE_PLAN"}), grow(text="a"), stop(),
            start({"text": ""}, 1), grow(1, text="b"), stop(1),
            start({"text": ""}, 2), grow(2, text="c"), stop(2),
            END,
        ],
        [ROLE, {"content": "a"}, {"content": "\n\n"}, {"content": "b"}, {"content": "c"}, "stop"],
        [],
    ),
    "sound": (
        [
            start({"audio": {"data": "", "transcript": "h"}, "extras": [
                {"protocol": "PROTOCOL_OPENAI", "key": "id", "value_json": '"audio_1"'},
                {"protocol": "PROTOCOL_OPENAI", "key": "expires_at", "value_json": "9"},
            ]}),
            grow(data="QUJD"), grow(transcript="i"), stop(), END,
        ],
        [
            ROLE, {"audio": {"id": "audio_1", "transcript": "h", "expires_at": 9}}, {"audio": {"data": "QUJD"}},
            {"audio": {"transcript": "i"}}, "stop",
        ],
        [],
    ),
    "what has no place": (
        [
            start({"image": {"mime_type": "image/png"}}), grow(data="QUJD"), stop(part={"image": {"data": "QUJD"}}),
            start({"server_tool_call": {"id": "s"}}, 1), grow(1, arguments="{}"), stop(1),
            start({"compaction": {}}, 2), grow(2, text="x"), stop(2),
            event(raw={"protocol": "PROTOCOL_GEMINI", "name": "n", "data_json": "{}"}),
            finish("OTHER"),
        ],
        [ROLE, "stop"],
        [
            dropped("ANSWER_IMAGE", "choices[0].parts[0]"),
            dropped("ANSWER_SERVER_TOOLS", "choices[0].parts[1]"),
            dropped("ANSWER_RAW_PART", "choices[0].parts[2]"),
            dropped("ANSWER_EXTRA", "n"),
            ("FINISH_REASON", "APPROXIMATED", "choices[0].finish.reason"),
        ],
    ),
    "nothing": ([END], [ROLE, "stop"], []),
    "newer events": ([StreamEvent(), start({"text": ""}), grow(), stop(), END], [ROLE, "stop"], []),
}  # fmt: skip


@pytest.mark.parametrize(("events", "expected", "notes"), CASES.values(), ids=list(CASES))
def test_streams(events: list[StreamEvent], expected: list[Any], notes: Notes) -> None:
    chunks, found = write_events([HEAD, *events])
    assert deltas(chunks) == expected
    assert found == notes
    assert {(each["id"], each["model"], each["created"]) for each in chunks} == {("x", "g", 1)}


def test_the_official_accumulator_puts_it_together() -> None:
    """It refuses lists that come in pieces whose entries have no index."""
    cited = {"sources": [{"url": "https://x"}, {"url": "https://y"}]}
    events = [
        start({"reasoning": {}}), grow(reasoning="h"), grow(reasoning="m"), grow(opaque=STATE), stop(),
        start({"reasoning": {}}, 1), grow(1, opaque=STATE), stop(1),
        start({"text": ""}, 2), grow(2, text="a"), grow(2, citation=cited), grow(2, citation=cited), stop(2),
        start({"tool_call": {"id": "c", "name": "f"}}, 3), grow(3, arguments="{}"), grow(3, opaque=SIGNATURE), stop(3),
        start({"tool_call": {"id": "d", "name": "f"}, "opaque": [SIGNATURE]}, 4), grow(4, arguments="{}"), stop(4),
        finish("TOOL_CALLS"), event(usage={"input_tokens": "1", "output_tokens": "2"}),
    ]  # fmt: skip
    chunks, _ = write_events([HEAD, *events])
    state = ChatCompletionStreamState()
    for each in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate(each))
    message: dict[str, Any] = state.get_final_completion().choices[0].message.to_dict()
    assert message["reasoning_content"] == "hm"
    assert [each["data"] for each in message["reasoning_details"]] == [seal(SEALED)] * 2
    assert [each["url_citation"]["url"] for each in message["annotations"]] == ["https://x", "https://y"] * 2
    assert [(each["id"], each["extra_content"]) for each in message["tool_calls"]] == [
        ("c", SIGNED["extra_content"]),
        ("d", SIGNED["extra_content"]),
    ]


def test_custom_calls() -> None:
    """The SDK's type of a chunk knows functions only; its accumulator takes these as well."""
    custom = {"tool_call": {"id": "c", "name": "f", "custom_text": ""}}
    events = [HEAD, start(custom), grow(arguments="x"), stop(), start(custom, 1), stop(1), END]
    chunks, _ = write_events(events, judged=False)
    first = {"id": "c", "type": "custom", "custom": {"name": "f", "input": ""}}
    assert deltas(chunks) == [
        ROLE,
        {"tool_calls": [{"index": 0, **first}]},
        {"tool_calls": [{"index": 0, "custom": {"input": "x"}}]},
        {"tool_calls": [{"index": 1, **first}]},
        "stop",
    ]


@pytest.mark.parametrize("shown", [True, False])
def test_usage_comes_last_where_it_was_asked_for(shown: bool) -> None:
    events = [
        event(response_start={"id": "x", "usage": {"input_tokens": "9"}}),
        event(usage={"output_tokens": "1"}),
        END,
        event(usage={"output_tokens": "2"}),
    ]
    chunks, _ = write_events(events, show_usage=shown)
    usages = [each.get("usage", "absent") for each in chunks]
    if shown:
        assert usages == [None, None, {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}]
        assert chunks[-1]["choices"] == []
    else:
        assert usages == ["absent", "absent"]


def test_choices_interleave() -> None:
    second = {"choice_index": 1}
    chunks, _ = write_events(
        [
            HEAD,
            start({"text": ""}),
            event(part_start={**second, "part": {"text": ""}}),
            grow(text="a"),
            event(part_delta={**second, "text": "b"}),
            event(part_stop=second),
            event(finish={**second, "reason": "FINISH_REASON_LENGTH"}),
            stop(),
            END,
        ]
    )
    said = [
        (choice["index"], choice["finish_reason"] or choice["delta"]) for each in chunks for choice in each["choices"]
    ]
    assert said == [
        (0, ROLE), (1, ROLE), (0, {"content": "a"}), (1, {"content": "b"}), (1, "length"), (0, "stop"),
    ]  # fmt: skip


def test_probabilities() -> None:
    token = {"token": "a", "logprob": -1}
    chunks, _ = write_events(
        [
            HEAD,
            start({"text": "a", "logprobs": [token]}),
            grow(logprobs=[token]),
            stop(),
            start({"refusal": ""}, 1),
            grow(1, refusal="a", logprobs=[token]),
            stop(1),
            END,
        ]
    )
    entry = {**TOKEN, "top_logprobs": []}
    assert [each["choices"][0].get("logprobs") for each in chunks] == [
        None,
        {"content": [entry], "refusal": None},
        {"content": [entry], "refusal": None},
        {"content": None, "refusal": [entry]},
        None,
    ]


OWN = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "hm"}),
    chunk({"content": "a"}),
    chunk({"content": "b"}),
    chunk({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
    chunk({}, "tool_calls"),
]


def test_a_stream_of_this_protocol_comes_back() -> None:
    chunks, notes = write_events(read_events(*OWN, DONE), show_usage=False)
    assert chunks == [json.loads(frame.removeprefix(b"data: ")) for frame in OWN]
    assert notes == []


def test_own_events_pass_through() -> None:
    text = '{"id":"","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}'
    chunks, _ = write_events([HEAD, event(raw={"protocol": "PROTOCOL_OPENAI", "data_json": text}), END])
    assert chunks[0] == json.loads(text)


def test_extras_of_a_stream() -> None:
    own = {"protocol": "PROTOCOL_OPENAI", "key": "x", "value_json": "1"}
    head = event(response_start={"id": "x", "service_tier": "SERVICE_TIER_FLEX", "extras": [own]})
    end = event(finish={"reason": "FINISH_REASON_STOP"}, extras=[own])
    chunks, _ = write_events([head, end])
    assert (chunks[0]["x"], chunks[0]["service_tier"], chunks[-1]["choices"][0]["x"]) == (1, "flex", 1)


def test_a_whole_answer_as_a_stream() -> None:
    whole = ParseDict(
        {
            "id": "1",
            "choices": [{
                "parts": [{"reasoning": {"text": "r", "summaries": ["s"]}}, {"text": "a"}],
                "finish": {"reason": "FINISH_REASON_STOP"},
            }],
        },
        MessageResponse(),
    )  # fmt: skip
    chunks, _ = write_events(events_of(whole), target=Protocol.GEMINI)
    assert deltas(chunks) == [
        ROLE,
        {"reasoning_content": "r"},
        {"reasoning_content": "\n\ns"},
        {"content": "a"},
        "stop",
    ]
