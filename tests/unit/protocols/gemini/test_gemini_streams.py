"""Streams of Gemini, read and written."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.gemini.offsets import Offsets
from fluxrpc.v1 import response_pb2
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import PROTOCOL_GEMINI, PROTOCOL_OPENAI
from fluxrpc.v1.response_pb2 import MessageResponse
from fluxrpc.v1.stream_pb2 import RawEvent, StreamEvent
from tests.support.ir_answers import answers
from tests.unit.protocols.gemini.gemini_ways import (
    GEMINI,
    answer,
    context_of,
    events_of_frames,
    frames_of,
    gathered,
    read_answer,
    sse,
)

HEAD = {"modelVersion": "gemini-3-pro", "responseId": "r5"}
PNG = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}


def _frame(*parts: dict[str, Any], finish: str = "", index: int = 0, **fields: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": index, "content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    usage = fields.pop("usage", None)
    return {"candidates": [candidate | fields], **HEAD} | ({"usageMetadata": usage} if usage else {})


END = _frame(
    {"text": ""}, finish="STOP", usage={"promptTokenCount": 7, "candidatesTokenCount": 10, "totalTokenCount": 17}
)
SIGNED = {"functionCall": {"id": "f1", "name": "w", "args": {"c": "Oslo"}}, "thoughtSignature": "QU-_"}


def test_thought_signature_and_calls() -> None:
    response = gathered(
        _frame(
            {"text": "think ", "thought": True},
            usage={"promptTokenCount": 7, "totalTokenCount": 9, "thoughtsTokenCount": 2},
        ),
        _frame(SIGNED, {"functionCall": {"name": "w"}}),
        END,
        "[DONE]",
    )
    thought, first, second = response.choices[0].parts
    assert thought == Part(reasoning=thought.reasoning)
    assert thought.reasoning.text == "think "
    assert (first.tool_call.id, first.tool_call.arguments_json) == ("f1", '{"c": "Oslo"}')
    assert (first.opaque[0].value, first.opaque[0].model, first.opaque[0].service) == (
        b"QU-_",
        "gemini-3-pro",
        "google",
    )
    assert second.tool_call.id == "call_gw_1_1"
    assert response.choices[0].finish.reason == response_pb2.FINISH_REASON_TOOL_CALLS
    assert (response.usage.input_tokens, response.usage.output_tokens, response.id) == (7, 10, "r5")


def test_usage_on_every_frame() -> None:
    counts = {"promptTokenCount": 7, "candidatesTokenCount": 2}
    reader = GEMINI.read_stream(StreamOptions(), context_of())
    reader.feed(sse(_frame({"text": "a"}), _frame({"text": "b"}, usage=counts), {"usageMetadata": None}))
    assert reader.usage is not None
    assert (reader.usage.input_tokens, reader.usage.output_tokens) == (7, 2)


def test_a_signature_closes_its_text() -> None:
    response = gathered(
        _frame({"text": "a"}), _frame({"text": "b", "thoughtSignature": "QQ"}), _frame({"text": "c"}),
        _frame({"text": "", "thoughtSignature": "Qg"}), _frame({"text": "", "thoughtSignature": "Qw"}), END,
    )  # fmt: skip
    assert [(part.text, [state.value for state in part.opaque]) for part in response.choices[0].parts] == [
        ("ab", [b"QQ"]), ("c", [b"Qg"]), ("", [b"Qw"]),
    ]  # fmt: skip


def test_parts_of_every_kind() -> None:
    response = gathered(
        _frame(
            PNG,
            {"executableCode": {"code": "1"}},
            {"newPart": 1},
            {"text": "x", "new": 1},
            {"text": "y", "thought": True, "new": 1},
        ),
        _frame({"text": "", "new": 2}),
        END,
    )
    image, code, raw, text, thought, blank = response.choices[0].parts
    assert (image.image.data, code.server_tool_call.input_json, raw.raw.type) == (b"ABC", '{"code": "1"}', "newPart")
    assert (text.text, text.extras[0].key, thought.reasoning.text, blank.text) == ("x", "new", "y", "")


def test_what_comes_late() -> None:
    late: dict[str, Any] = {
        "groundingMetadata": {
            "groundingChunks": [{"web": {"uri": "u"}}],
            "groundingSupports": [{"segment": {"startIndex": 6, "endIndex": 11}, "groundingChunkIndices": [0]}],
        },
        "safetyRatings": [{"category": "C", "blocked": True}],
    }
    response = gathered(
        _frame({"text": "hm", "thought": True}), _frame({"text": "Über "}), _frame({"text": "Köln",
            "thoughtSignature": "QQ"}),
        _frame({"text": "."}, finish="SAFETY", finishMessage="m", **late), _frame(finish="SAFETY", finishMessage="m"),
    )  # fmt: skip
    choice = response.choices[0]
    assert [(each.start, each.end) for part in choice.parts for each in part.citations] == [(5, 9)]
    assert (choice.finish.category, choice.finish.message) == ("C", "m")
    assert {extra.key for extra in choice.extras} == set(late)


def test_places_in_the_part_that_they_name() -> None:
    metadata = {"groundingSupports": [{"segment": {"partIndex": 1, "startIndex": 1, "endIndex": 6}}]}
    response = gathered(
        _frame({"text": "hm", "thought": True}),
        _frame({"text": " Köln"}),
        _frame(finish="STOP", groundingMetadata=metadata),
    )
    [citation] = response.choices[0].parts[1].citations
    assert (citation.start, citation.end) == (1, 5)


def test_probabilities() -> None:
    chosen = {"chosenCandidates": [{"token": "a", "logProbability": -0.5}]}
    response = gathered(_frame({"text": "a"}, logprobsResult=chosen), END)
    assert response.choices[0].parts[0].logprobs[0].token == "a"


def test_old_models_finish_every_frame() -> None:
    response = gathered(_frame({"text": "a"}, finish="STOP"), _frame({"text": "b"}, finish="MAX_TOKENS"))
    assert [part.text for part in response.choices[0].parts] == ["a", "b"]
    assert response.choices[0].finish.raw == "MAX_TOKENS"


def test_candidates_interleave() -> None:
    response = gathered(
        _frame({"text": "a"}, finish="FINISH_REASON_UNSPECIFIED"),
        _frame({"text": "b"}, index=1),
        END,
        _frame(finish="STOP", index=1),
    )
    assert [choice.parts[0].text for choice in response.choices] == ["a", "b"]


def test_a_refused_prompt() -> None:
    blocked = {
        "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": [{"category": "C", "blocked": True}]},
        **HEAD,
    }
    for frame in (blocked, {"promptFeedback": {"blockReason": "OTHER"}}):
        finish = gathered(frame, {"promptFeedback": {}}).choices[0].finish
        assert finish.prompt_blocked
        assert finish.reason == response_pb2.FINISH_REASON_CONTENT_FILTER
    frames, _ = frames_of(events_of_frames(sse(blocked)), target=Protocol.GEMINI)
    assert frames == [blocked]


@pytest.mark.parametrize("text", ["\ud83d|\ude00", "x\ud83d|\ude00y", "\ud83d|", "|\ude00"])
def test_pairs_that_are_cut(text: str) -> None:
    first, second = text.split("|")
    whole = (first + second).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    response = gathered(_frame({"text": first}, PNG), _frame({"text": first}), _frame({"text": second}), END)
    assert response.choices[0].parts[-1].text == whole


def test_halves_elsewhere_and_numbers_without_end() -> None:
    response = gathered({"responseId": "\ud83d"}, _frame({"text": "a"}), END)
    assert response.id == "\ufffd"
    long = '{"candidates":[{"content":{"parts":[{"text":"\\ud83d"}]},"tokenCount":' + "1" * 5000 + "}]}"
    assert gathered(long, END).choices[0].parts[0].text == "\ufffd"


def test_bad_streams() -> None:
    def outcome(data: bytes) -> Any:
        reader = GEMINI.read_stream(StreamOptions(), context_of())
        return reader.feed(data).error or reader.close().error

    cut = outcome(sse(_frame({"text": "a"})))
    assert isinstance(cut, AnswerFault)
    assert cut.detail == "STREAM_CUT"
    error = outcome(sse(_frame({"text": "a"}), {"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}))
    assert isinstance(error, ProviderError)
    assert isinstance(outcome(b'{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}'), ProviderError)
    reader = GEMINI.read_stream(StreamOptions(), context_of())
    reader.feed(sse(_frame({"inlineData": {"data": "$"}})))
    assert reader.malformed == 1
    assert reader.usage is None


def test_reality() -> None:
    """The answer begins with what the native watcher takes for its beginning."""
    for part, real in (
        ({"text": ""}, False),
        ({"text": "a"}, True),
        ({"text": "", "new": 1}, False),
        (SIGNED, True),
        ({"new": 1}, False),
    ):
        reader = GEMINI.read_stream(StreamOptions(), context_of())
        assert reader.feed(sse(_frame(part))).real is real


# --- writing ---


def test_a_stream_comes_back() -> None:
    frames = [
        _frame({"text": "think ", "thought": True}), _frame({"text": "", "thought": True, "thoughtSignature": "QQ"}),
            _frame(SIGNED),
        _frame(PNG), _frame({"executableCode": {"code": "1"}}), _frame({"text": "Ü"}), _frame({"text": "a"}, index=1),
        _frame({"text": "", "thoughtSignature": "Qg"}, index=0),
    ]  # fmt: skip
    last = {
        "candidates": [
            {"content": {"parts": [{"text": ""}], "role": "model"}, "index": 0, "finishReason": "STOP",
                "avgLogprobs": 1},
            {"content": {"parts": [{"text": ""}], "role": "model"}, "index": 1, "finishReason": "MAX_TOKENS"},
        ],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 10, "totalTokenCount": 17}, **HEAD,
    }  # fmt: skip
    written, notes = frames_of(events_of_frames(sse(*frames, last)), target=Protocol.GEMINI)
    assert written == [*frames, last]
    assert notes == set()


WHOLE = ParseDict(
    {
        "id": "x", "model": "m", "extras": [{"protocol": "PROTOCOL_OPENAI", "key": "x", "valueJson": "1"}],
        "choices": [{
            "parts": [
                {"reasoning": {"summaries": ["", "a", "b"]}},
                {"refusal": "no"},
                {"compaction": {"text": "c"}},
                {"text": "Köln", "phase": "TEXT_PHASE_PLAN", "logprobs": [{"token": "K", "logprob": -1}],
                 "citations": [{"start": 1, "end": 2, "sources": [{"kind": "CITATION_SOURCE_KIND_URL", "url": "u"}]}]},
                {"toolCall": {"id": "c", "name": "f", "argumentsJson": '{"a":\n1}'}},
                {"toolCall": {"id": "d", "name": "g", "customText": "free"}},
                {"toolCall": {"id": "e", "name": "h"}},
                {"raw": {"protocol": "PROTOCOL_OPENAI", "bodyJson": "{}"}},
            ],
            "finish": {"reason": "FINISH_REASON_STOP"},
        }],
        "usage": {"inputTokens": "1"},
    },
    MessageResponse(),
)  # fmt: skip


def test_the_stream_of_another() -> None:
    frames, notes = frames_of(events_of(WHOLE))
    parts = [frame["candidates"][0]["content"]["parts"][0] for frame in frames]
    assert parts == [
        {"text": "a", "thought": True}, {"text": "\n\nb", "thought": True}, {"text": "no"}, {"text": "c",
            "thought": True},
        {"text": "Köln"},
        {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}},
        {"functionCall": {"id": "d", "name": "g", "args": {"input": "free"}}},
        {"functionCall": {"id": "e", "name": "h", "args": {}}},
        {"text": ""},
    ]  # fmt: skip
    assert frames[4]["candidates"][0]["logprobsResult"] == {
        "chosenCandidates": [{"token": "K", "logProbability": -1.0}]
    }
    last = frames[-1]["candidates"][0]
    segment = {"partIndex": 3, "startIndex": 1, "endIndex": 3}
    assert last["groundingMetadata"]["groundingSupports"] == [{"segment": segment, "groundingChunkIndices": [0]}]
    assert all((frame["modelVersion"], frame["responseId"]) == ("m", "x") for frame in frames)
    assert [
        frame for frame in frames if "usageMetadata" in frame or "finishReason" in frame["candidates"][0]
    ] == frames[-1:]
    path = "choices[0].parts"
    assert notes == {
        f"APPROXIMATED ANSWER_REFUSAL {path}[1]", f"APPROXIMATED COMPACTION {path}[2]",
            f"DROPPED TEXT_PHASE {path}[3].phase",
        f"DROPPED ANSWER_RAW_PART {path}[7]", "DROPPED ANSWER_EXTRA x",
    }  # fmt: skip


def _event(**event: Any) -> StreamEvent:
    return ParseDict(event, StreamEvent())


def test_deltas_of_every_kind() -> None:
    events = [
        _event(responseStart={"usage": {"inputTokens": "3"}}),
        _event(partStart={"part": {"audio": {"mimeType": "audio/wav"}}}),
        _event(partDelta={"data": "QUJD"}), _event(partDelta={"transcript": "abc"}), _event(partDelta={}),
            _event(partStop={}),
        _event(partStart={"partIndex": 1, "part": {"text": "given"}}),
        _event(partDelta={"partIndex": 1, "logprobs": [{"token": "a"}]}), _event(partStop={"partIndex": 1}),
        _event(partStart={"partIndex": 2, "part": {"toolCall": {"name": "f"}}}), _event(partDelta={"partIndex": 2,
            "arguments": "{"}),
        _event(partStop={"partIndex": 2, "part": {"toolCall": {"id": "i", "name": "f",
            "argumentsJson": '{"whole":1}'}}}),
        _event(partStart={"partIndex": 3, "part": {"serverToolCall": {"kindRaw": "toolCall"}}}),
        _event(partDelta={"partIndex": 3, "arguments": "{}"}), _event(partStop={"partIndex": 3}),
        StreamEvent(raw=RawEvent(protocol=PROTOCOL_GEMINI, data_json='{\n"new":1}')),
        StreamEvent(raw=RawEvent(protocol=PROTOCOL_OPENAI, data_json="{}")),
        StreamEvent(),
        _event(usage={"outputTokens": "4"}),
        _event(finish={"reason": "FINISH_REASON_LENGTH"}),
    ]  # fmt: skip
    frames, notes = frames_of(events)
    parts = [frame["candidates"][0]["content"]["parts"][0] for frame in frames if "candidates" in frame]
    assert parts == [
        {"inlineData": {"mimeType": "audio/wav", "data": "QUJD"}}, {"text": "given"}, {"text": ""},
        {"functionCall": {"id": "i", "name": "f", "args": {"whole": 1}}}, {"toolCall": {}}, {"text": ""},
    ]  # fmt: skip
    assert {"new": 1} in frames
    assert frames[-1]["usageMetadata"] == {"promptTokenCount": 3, "candidatesTokenCount": 4}
    assert notes == {"DROPPED ANSWER_AUDIO choices[0].parts[0].audio.transcript", "DROPPED ANSWER_EXTRA event"}


def _meaning(response: MessageResponse) -> Any:
    """What is said, called and how it ended, however it is cut into parts."""
    return [
        (
            "".join(part.text for part in choice.parts),
            "".join(part.reasoning.text for part in choice.parts),
            [
                (part.tool_call.name, part.tool_call.arguments_json)
                for part in choice.parts
                if part.HasField("tool_call")
            ],
            choice.finish.raw,
        )
        for choice in response.choices
    ]


@settings(max_examples=80, deadline=None)
@given(answers())
def test_any_answer_says_the_same_whole_and_streamed(response: MessageResponse) -> None:
    body, _ = answer(response)
    frames, _ = frames_of(events_of(response))
    assert body.get("candidates", []) != [] or response.choices == []
    if response.choices:
        assert _meaning(gathered(*frames)) == _meaning(read_answer(body))


# --- places in a text ---


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("aé€😀", max_size=4), max_size=5), st.integers(0, 30))
def test_offsets(pieces: list[str], point: int) -> None:
    text = "".join(pieces)
    offsets = Offsets()
    for piece in pieces:
        offsets.feed(piece)
    byte = len(text[:point].encode())
    assert offsets.to_bytes(point) == byte
    assert offsets.to_points(byte) == min(point, len(text))
    assert offsets.points == len(text)
