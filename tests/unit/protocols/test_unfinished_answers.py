"""What a provider itself calls failed, cancelled or unfinished never looks whole to callers of another protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.errors import AnswerFault
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest
from fluxrpc.v1.response_pb2 import FINISH_REASON_ERROR
from tests.support.translating import HELLO, bridge_for, streamed, target_for

OTHERS_OF_GEMINI = [each for each in Protocol if each is not Protocol.GEMINI]
OTHERS_OF_RESPONSES = [each for each in Protocol if each is not Protocol.RESPONSES]


def gemini(word: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": "half"}]}
    return {"candidates": [{"index": 0, "content": content, "finishReason": word}]}


def responses(status: str) -> dict[str, Any]:
    return {"id": "r", "object": "response", "status": status, "model": "m", "output": []}


def encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()


@pytest.mark.parametrize("caller", OTHERS_OF_GEMINI)
@pytest.mark.parametrize("word", ["MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE"])
def test_a_failed_answer_is_no_answer(caller: Protocol, word: str) -> None:
    way = bridge_for(caller, HELLO[caller], target_for(Protocol.GEMINI))
    body = encoded(gemini(word))
    for read in (way.read_answer, way.stream_of):
        with pytest.raises(AnswerFault, match=f"GENERATION_FAILED: the provider ended the answer with '{word}'"):
            read(body)
    gatherer = way.gatherer(StreamOptions())
    gatherer.feed(b"data: " + body + b"\n\n")
    with pytest.raises(AnswerFault, match="GENERATION_FAILED"):
        gatherer.close()

    frames, error = streamed(way, [b"data: " + body + b"\n\n"])

    assert isinstance(error, AnswerFault)
    assert error.detail == "GENERATION_FAILED"
    assert b"half" in frames
    for end in (b"[DONE]", b'finish_reason":"', b"message_stop", b"message-end", b"response.completed", b"failed"):
        assert end not in frames


def test_who_knows_the_word_is_told_it() -> None:
    way = bridge_for(Protocol.GEMINI, HELLO[Protocol.GEMINI], target_for(Protocol.GEMINI))
    assert json.loads(way.read_answer(encoded(gemini("MALFORMED_RESPONSE"))).body)["candidates"][0]["finishReason"]
    typed = MessageRequest(messages=[Message(role=ROLE_USER, text="Hi")])
    message = bridge_for(None, typed, target_for(Protocol.GEMINI)).read_answer(encoded(gemini("MALFORMED_RESPONSE")))
    assert message.message is not None
    assert message.message.choices[0].finish.reason == FINISH_REASON_ERROR


@pytest.mark.parametrize("caller", OTHERS_OF_RESPONSES)
@pytest.mark.parametrize(
    ("status", "detail"),
    [
        ("cancelled", "GENERATION_FAILED"),
        ("in_progress", "UNFINISHED_ANSWER"),
        ("queued", "UNFINISHED_ANSWER"),
    ],
)
def test_work_that_was_not_done_is_no_answer(caller: Protocol, status: str, detail: str) -> None:
    way = bridge_for(caller, HELLO[caller], target_for(Protocol.RESPONSES))
    with pytest.raises(AnswerFault, match=detail):
        way.read_answer(encoded(responses(status)))


def test_who_may_wait_for_it_is_told_so() -> None:
    way = bridge_for(Protocol.RESPONSES, HELLO[Protocol.RESPONSES], target_for(Protocol.RESPONSES))
    assert json.loads(way.read_answer(encoded(responses("queued"))).body)["status"] == "queued"


def test_a_stream_of_events_that_ends_cancelled_was_cut() -> None:
    way = bridge_for(Protocol.OPENAI, HELLO[Protocol.OPENAI], target_for(Protocol.RESPONSES))
    event = {"type": "response.cancelled", "response": responses("cancelled")}
    frames, error = streamed(way, [b"data: " + encoded(event) + b"\n\n"])
    assert (error and error.detail, b"[DONE]" in frames) == ("GENERATION_FAILED", False)
