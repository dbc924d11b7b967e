"""Nothing is left out of an answer in silence: what callers of Anthropic Messages are not told is noted or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from fluxrpc.errors import AnswerFault
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.anthropic.fates import FATES
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1 import response_pb2 as rs
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.part_pb2 import Part, ToolCall
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE, PROTOCOL_GEMINI, Extra, OpaqueState
from fluxrpc.v1.response_pb2 import Choice, Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, StreamEvent
from fluxrpc.v1.usage_pb2 import CacheWrite, ModalityTokens, Usage
from tests.unit.protocols.anthropic.saying import ANTHROPIC, context_for, frames, told, write_events

OTHER = Protocol.COHERE
PATH = "choices[0].parts[0]"


def response(*parts: Part, finish: Finish | None = None, usage: Usage | None = None) -> MessageResponse:
    choice = Choice(parts=parts, finish=finish or Finish(reason=rs.FINISH_REASON_STOP))
    return MessageResponse(id="x", choices=[choice], usage=usage)


def whole(answer: MessageResponse) -> tuple[dict[str, Any], set[str]]:
    notes = Notes(FATES)
    context = context_for(MessageRequest(), caller=Protocol.ANTHROPIC, upstream=OTHER)
    return json.loads(ANTHROPIC.write_response(answer, context, notes)), set(told(notes))


def streamed(answer: MessageResponse) -> tuple[list[dict[str, Any]], set[str]]:
    found, notes = write_events(events_of(answer), upstream=OTHER)
    return found, set(notes)


TTL = [CacheWrite(ttl=Duration(seconds=300), tokens=1), CacheWrite(ttl=Duration(seconds=1800), tokens=2)]
USAGE = Usage(
    tool_use_input_tokens=1,
    input_modalities=[ModalityTokens(tokens=1)],
    cache_writes=TTL,
    extras=[Extra(protocol=PROTOCOL_COHERE, key="billed_units", value_json='{"input_tokens":1.5}')],
)
STATE = OpaqueState(origin=PROTOCOL_GEMINI, value=b"s")
LOST: dict[str, tuple[MessageResponse, set[str]]] = {
    "counters": (
        response(usage=USAGE),
        {
            "dropped USAGE_DETAIL usage.tool_use_input_tokens",
            "dropped USAGE_DETAIL usage.input_modalities",
            "dropped USAGE_DETAIL usage.cache_writes",
            "dropped USAGE_DETAIL usage.billed_units",
        },
    ),
    "phase": (
        response(Part(text="a", phase=pb.TEXT_PHASE_COMMENTARY)),
        {f"dropped TEXT_PHASE {PATH}.phase"},
    ),
    "plan": (response(Part(text="a", phase=pb.TEXT_PHASE_PLAN)), set()),
    "two states": (
        response(Part(reasoning=pb.Reasoning(text="a"), opaque=[STATE, STATE])),
        {f"dropped REASONING_STATE {PATH}.opaque"},
    ),
    "words about an end": (
        response(Part(text="a"), finish=Finish(reason=rs.FINISH_REASON_LENGTH, message="why")),
        {"dropped FINISH_DETAILS choices[0].finish"},
    ),
    "another's category": (
        response(finish=Finish(reason=rs.FINISH_REASON_REFUSAL, message="why", category="HARM")),
        {"dropped FINISH_DETAILS choices[0].finish"},
    ),
}


@pytest.mark.parametrize(("answer", "notes"), LOST.values(), ids=list(LOST))
def test_what_is_not_told_is_noted(answer: MessageResponse, notes: set[str]) -> None:
    assert whole(answer)[1] == notes
    assert streamed(answer)[1] == notes


def test_probabilities_are_noted() -> None:
    answer = response(Part(text="a", logprobs=[pb.TokenLogprob(token="a", logprob=-1)]))
    assert whole(answer)[1] == {f"dropped ANSWER_LOGPROBS {PATH}.logprobs"}
    assert streamed(answer)[1] == {"dropped ANSWER_LOGPROBS choices[0].logprobs"}


def test_cache_writes_that_can_be_told_are() -> None:
    answer = response(usage=Usage(cache_writes=TTL[:1]))
    body, notes = whole(answer)
    assert body["usage"]["cache_creation"] == {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 0}
    assert notes == set()


@pytest.mark.parametrize(
    ("finish", "explained"),
    [
        (Finish(reason=rs.FINISH_REASON_STOP, message="why"), None),
        (Finish(reason=rs.FINISH_REASON_CONTENT_FILTER), None),
        (Finish(reason=rs.FINISH_REASON_CONTENT_FILTER, message="why"), "why"),
        (Finish(reason=rs.FINISH_REASON_REFUSAL, message="why"), "why"),
    ],
)
def test_only_a_refusal_is_explained(finish: Finish, explained: str | None) -> None:
    body, _ = whole(response(finish=finish))
    details = {"type": "refusal", "category": None, "explanation": explained} if explained else None
    assert body.get("stop_details") == details


def free_text(*texts: str, at_end: str = "") -> list[StreamEvent]:
    shell = Part(tool_call=ToolCall(id="c", name="f", custom_text=""))
    stop = PartStop(part=Part(tool_call=ToolCall(id="c", name="f", custom_text=at_end))) if at_end else PartStop()
    return [
        StreamEvent(part_start=PartStart(part=shell)),
        *(StreamEvent(part_delta=PartDelta(arguments=text)) for text in texts),
        StreamEvent(part_stop=stop),
    ]


@pytest.mark.parametrize("events", [free_text('a"', "b"), free_text(at_end='a"b')])
def test_free_text_of_a_call_is_an_object_in_streams_too(events: list[StreamEvent]) -> None:
    found, _ = write_events(events, upstream=OTHER)
    pieces = [event["delta"]["partial_json"] for event in found if event["type"] == "content_block_delta"]
    assert json.loads("".join(pieces)) == {"input": 'a"b'}
    answer = response(Part(tool_call=ToolCall(id="c", name="f", custom_text='a"b')))
    assert whole(answer)[0]["content"][0]["input"] == {"input": 'a"b'}


TEXT_BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
CALL_BLOCK = {"type": "content_block_start", "index": 1, "content_block": CALL}
SAYS = {"type": "text_delta", "text": "late"}
GIVES = {"type": "input_json_delta", "partial_json": "{"}


@pytest.mark.parametrize(
    ("opening", "index", "delta"),
    [
        ([TEXT_BLOCK, CALL_BLOCK], 0, SAYS),
        ([TEXT_BLOCK, CALL_BLOCK, {"type": "content_block_stop", "index": 1}], 1, GIVES),
        ([CALL_BLOCK, TEXT_BLOCK], 1, GIVES),
        ([], 0, GIVES),
    ],
)
def test_a_block_that_grows_when_it_is_not_open_spoils_the_answer(
    opening: list[dict[str, Any]], index: int, delta: dict[str, Any]
) -> None:
    reader = ANTHROPIC.read_stream(StreamOptions(), context_for(MessageRequest()))
    batch = reader.feed(frames([*opening, {"type": "content_block_delta", "index": index, "delta": delta}]))
    assert isinstance(batch.error, AnswerFault)
    assert batch.error.detail == "MALFORMED_ANSWER"
    assert not batch.ended


def test_what_names_no_block_grows_the_open_one() -> None:
    reader = ANTHROPIC.read_stream(StreamOptions(), context_for(MessageRequest()))
    batch = reader.feed(frames([TEXT_BLOCK, {"type": "content_block_delta", "delta": SAYS}]))
    assert [event.part_delta.text for event in batch.events if event.HasField("part_delta")] == ["late"]
