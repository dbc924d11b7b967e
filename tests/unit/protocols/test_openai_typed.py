from __future__ import annotations

import json
import math
from typing import Any

import pytest
from google.protobuf import json_format

from fluxrpc.errors import AnswerFault, InvalidRequest, ProviderError, TranslationMissing
from fluxrpc.protocols.base import Protocol, StreamOptions, WireOptions
from fluxrpc.protocols.registry import TYPED
from fluxrpc.protocols.surrogates import HalfJoiner
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.message_pb2 import Message, MessageRequest
from fluxrpc.v1.part_pb2 import Media, Part
from fluxrpc.v1.protocol_pb2 import PROTOCOL_OPENAI, Extra
from fluxrpc.v1.stream_pb2 import StreamEvent
from fluxrpc.v1.tool_pb2 import FunctionTool

CODEC = TYPED[Protocol.OPENAI]
USER = Message(role=pb.ROLE_USER, text="Hello")


def write(request: MessageRequest, *, stream: bool = False, force_usage: bool = True) -> dict[str, Any]:
    options = WireOptions(force_usage=force_usage)
    wire, notes = CODEC.write_request(request, model="m", stream=stream, options=options)
    assert wire.path == "/v1/chat/completions"
    assert notes == ()
    body: dict[str, Any] = json.loads(wire.body)
    return body


def test_a_text_conversation() -> None:
    request = MessageRequest(
        messages=[
            Message(role=pb.ROLE_SYSTEM, text="Be brief."),
            Message(role=pb.ROLE_DEVELOPER, text="Be kind."),
            Message(role=pb.ROLE_USER, parts=[Part(text="a"), Part(text="b")], name="ann"),
            Message(role=pb.ROLE_ASSISTANT),
        ],
        max_output_tokens=16,
        temperature=0.0,
        top_p=0.5,
        seed=2**53 + 1,
        presence_penalty=-1,
        frequency_penalty=1,
        choice_count=2,
        store=False,
        stop_sequences=["x", "y"],
    )
    assert write(request) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": "Be kind."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                "name": "ann",
            },
            {"role": "assistant", "content": ""},
        ],
        "max_completion_tokens": 16,
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 2**53 + 1,
        "presence_penalty": -1.0,
        "frequency_penalty": 1.0,
        "n": 2,
        "store": False,
        "stop": ["x", "y"],
    }


def test_a_stream_asks_for_usage_unless_told_not_to() -> None:
    request = MessageRequest(messages=[USER])
    assert write(request, stream=True)["stream_options"] == {"include_usage": True}
    without = write(request, stream=True, force_usage=False)
    assert without["stream"] is True
    assert "stream_options" not in without


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        (MessageRequest(), "messages"),
        (MessageRequest(messages=[Message(text="x")]), "messages[0].role"),
        (MessageRequest(messages=[USER, Message(role=99, text="x")]), "messages[1].role"),  # type: ignore[arg-type]  # an unknown value
        (MessageRequest(messages=[Message(role=pb.ROLE_USER, text="x", parts=[Part(text="y")])]), "messages[0]"),
        (MessageRequest(messages=[Message(role=pb.ROLE_USER, parts=[Part()])]), "messages[0].parts[0]"),
        (MessageRequest(messages=[USER], temperature=math.nan), "temperature"),
        (MessageRequest(messages=[USER], top_p=math.inf), "top_p"),
    ],
)
def test_what_means_nothing_is_refused(request_: MessageRequest, path: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        write(request_)
    assert caught.value.violations[0].path == path


@pytest.mark.parametrize(
    ("request_", "place"),
    [
        (MessageRequest(messages=[USER], tools=[pb.Tool(function=FunctionTool(name="f"))]), "tools"),
        (MessageRequest(messages=[Message(role=pb.ROLE_TOOL)]), r"messages\[0\]\.role"),
        (
            MessageRequest(messages=[Message(role=pb.ROLE_USER, parts=[Part(image=Media(url="https://x"))])]),
            r"messages\[0\]\.parts\[0\]\.image",
        ),
        (
            MessageRequest(messages=[Message(role=pb.ROLE_USER, parts=[Part(text="x", phase_raw="y")])]),
            r"messages\[0\]\.parts\[0\]\.phase_raw",
        ),
        (
            MessageRequest(
                messages=[
                    Message(
                        role=pb.ROLE_USER,
                        text="x",
                        extras=[Extra(protocol=PROTOCOL_OPENAI, key="k", value_json="1")],
                    )
                ]
            ),
            r"messages\[0\]\.extras",
        ),
    ],
)
def test_what_is_not_written_yet_is_named(request_: MessageRequest, place: str) -> None:
    with pytest.raises(TranslationMissing, match=place):
        write(request_)


def test_a_whole_answer() -> None:
    answer = CODEC.read_response(
        json.dumps(
            {
                "id": "c1",
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": "m-2026",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": "Hi", "reasoning_content": "hm", "refusal": None},
                        "finish_reason": "stop",
                    },
                    {
                        "index": 1,
                        "message": {"content": [{"type": "text", "text": "a"}, {"type": "other"}], "annotations": [{}]},
                        "finish_reason": "length",
                    },
                    {"index": 2, "message": {"content": None, "refusal": "no\ud800"}, "finish_reason": "stop"},
                    {"index": 3},
                ],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            }
        ).encode()
    )
    assert answer.message is not None
    assert json_format.MessageToDict(answer.message, preserving_proto_field_name=True) == {
        "id": "c1",
        "model": "m-2026",
        "created": "2023-11-14T22:13:20Z",
        "choices": [
            {
                "parts": [{"reasoning": {"text": "hm"}}, {"text": "Hi"}],
                "finish": {"reason": "FINISH_REASON_STOP", "raw": "stop"},
            },
            {
                "index": 1,
                "parts": [{"text": "a"}],
                "finish": {"choice_index": 1, "reason": "FINISH_REASON_LENGTH", "raw": "length"},
            },
            {
                "index": 2,
                "parts": [{"refusal": "no\ufffd"}],
                "finish": {"choice_index": 2, "reason": "FINISH_REASON_REFUSAL", "raw": "stop"},
            },
            {"index": 3, "finish": {"choice_index": 3, "reason": "FINISH_REASON_OTHER"}},
        ],
        "usage": {"input_tokens": "3", "output_tokens": "2", "total_tokens": "5"},
    }
    assert answer.refused
    assert answer.served_model == "m-2026"
    assert [(note.path, note.code) for note in answer.notes] == [
        ("choices[1].message.annotations", "NOT_TRANSLATED_YET"),
        ("choices[2].message", "LONE_SURROGATE"),
    ]


def test_a_sparse_answer() -> None:
    answer = CODEC.read_response(b'{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}')
    assert answer.usage is None
    assert not answer.refused
    with pytest.raises(AnswerFault, match="FOREIGN_ANSWER"):
        CODEC.read_response(b'{"choices":[]}')


def chunk(delta: dict[str, Any] | None, finish: str | None = None, index: int = 0, **more: Any) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "c1", "model": "m", "choices": [choice], **more}).encode() + b"\n\n"


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


def test_a_stream() -> None:
    stream = CODEC.read_stream(StreamOptions())
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
    assert batch.frames == b""
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
        "finish 0 stop 8",
    ]
    assert not stream.finished
    last = stream.feed(
        chunk({"content": "\ud83d", "tool_calls": [{"index": 0}]}, index=1)
        + chunk({"tool_calls": [{"index": 0}]}, "stop", index=1)
        + chunk({}, "stop", index=1)
        + b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
        + b"data: [DONE]\n\n"
    )
    assert words(list(last.events)) == ["text 1.0 \ufffd", "stop 1.0", "finish 1 stop 6", "usage"]
    assert last.ended
    assert stream.served_model == "m"
    assert stream.usage is not None
    assert stream.usage.total_tokens == 3
    assert [(note.path, note.code) for note in stream.notes] == [
        ("choices[1].delta.tool_calls", "NOT_TRANSLATED_YET"),
        ("choices[1].delta", "LONE_SURROGATE"),
    ]


def test_a_stream_without_terminator() -> None:
    stream = CODEC.read_stream(StreamOptions())
    stream.feed(chunk({"content": "x"}, "stop"))
    batch = stream.close()
    assert (batch.ended, batch.frames, list(batch.events)) == (True, b"", [])


def test_a_stream_that_is_cut() -> None:
    stream = CODEC.read_stream(StreamOptions())
    stream.feed(chunk({"content": "x"}) + chunk(None))
    assert isinstance(stream.close().error, AnswerFault)


@pytest.mark.parametrize("body", [b'data: {"error":{"message":"m"}}\n\n', b'{"error":{"message":"m"}}'])
def test_a_stream_that_fails(body: bytes) -> None:
    stream = CODEC.read_stream(StreamOptions())
    error = stream.feed(body).error or stream.close().error
    assert isinstance(error, ProviderError)


def test_halves_of_pairs_join() -> None:
    joiner = HalfJoiner()
    assert joiner.feed("a\ud83d") + joiner.feed("\ude00\ufffd") + joiner.close() == "a😀\ufffd"
    assert joiner.replaced == 0
    assert (
        joiner.feed("\ud83d") + joiner.feed("x\ude00") + joiner.feed("\ud83d") + joiner.close() == "\ufffdx\ufffd\ufffd"
    )
    assert joiner.replaced == 3


def test_an_odd_answer_breaks_nothing() -> None:
    answer = b'{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":"\\ud800"}'
    assert CODEC.read_response(answer).usage is None
    with pytest.raises(AnswerFault):
        CODEC.read_response(answer.replace(b'"index":0', b'"index":4294967296'))
