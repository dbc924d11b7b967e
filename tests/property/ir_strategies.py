"""Requests and answers of the IR, generated: what several protocols can say, in all mixtures."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.message_pb2 import Message, MessageRequest, Tool
from fluxrpc.v1.part_pb2 import Media, Part, Reasoning, ToolCall, ToolResult
from fluxrpc.v1.response_pb2 import (
    FINISH_REASON_LENGTH,
    FINISH_REASON_STOP,
    FINISH_REASON_TOOL_CALLS,
    Choice,
    Finish,
    MessageResponse,
)
from fluxrpc.v1.tool_pb2 import (
    TOOL_CHOICE_MODE_NONE,
    TOOL_CHOICE_MODE_REQUIRED,
    FunctionTool,
    ToolChoice,
)
from fluxrpc.v1.usage_pb2 import Usage

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
NAMES = st.sampled_from(["weather", "get-time", "fs_read", "x1"])
NUMBERS = st.sampled_from(["1", "1.50", "9007199254740993", "-0.0", "1e5"])
_KEYS = st.sampled_from(["a", "b", "city"])
OBJECTS = st.dictionaries(_KEYS, st.one_of(NUMBERS, TEXTS.map(json.dumps)), max_size=3).map(
    lambda fields: "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in fields.items()) + "}"
)
"""Texts of JSON objects whose numbers are spelt in ways that doubles lose."""
_PENALTIES = st.floats(-2, 2).filter(bool)  # none is what every model has unasked
SCHEMA = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}'


def _user_part(draw: Any) -> Part:
    if draw(st.booleans()):
        return Part(text=draw(TEXTS))
    return Part(image=Media(mime_type="image/png", data=draw(st.binary(min_size=1, max_size=8))))


@st.composite
def exchanges(draw: Any, index: int) -> list[Message]:
    """A user's turn, perhaps an answer with calls and their results."""
    parts = [_user_part(draw) for _ in range(draw(st.integers(1, 2)))]
    messages = [Message(role=pb.ROLE_USER, parts=parts)]
    if draw(st.booleans()):
        messages.append(Message(role=pb.ROLE_ASSISTANT, parts=[Part(text=draw(TEXTS))]))
        return messages
    names = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    calls = [
        ToolCall(id=f"call_{index}_{at}", name=name, arguments_json=draw(OBJECTS)) for at, name in enumerate(names)
    ]
    messages.append(Message(role=pb.ROLE_ASSISTANT, parts=[Part(tool_call=call) for call in calls]))
    results = [Part(tool_result=ToolResult(call_id=call.id, name=call.name, text=draw(TEXTS))) for call in calls]
    messages.append(Message(role=pb.ROLE_TOOL, parts=results))
    return messages


@st.composite
def requests(draw: Any) -> MessageRequest:
    """A conversation with tools and knobs."""
    request = MessageRequest(max_output_tokens=draw(st.integers(1, 9000)))
    if draw(st.booleans()):
        request.messages.append(Message(role=pb.ROLE_SYSTEM, parts=[Part(text=draw(TEXTS))]))
    for index in range(draw(st.integers(0, 2))):
        request.messages.extend(draw(exchanges(index)))
    request.messages.append(Message(role=pb.ROLE_USER, parts=[Part(text=draw(TEXTS))]))
    for name in ["weather", "get-time", "fs_read", "x1"]:
        tool = FunctionTool(name=name, description="d", parameters_json=SCHEMA)
        request.tools.append(Tool(function=tool))
    modes = [TOOL_CHOICE_MODE_REQUIRED, TOOL_CHOICE_MODE_NONE]  # to decide for itself is what every model does unasked
    mode = draw(st.sampled_from([None, *modes]))
    if mode is not None:
        request.tool_choice.CopyFrom(ToolChoice(mode=mode))
    for name, values in (
        ("temperature", st.floats(0, 2)),
        ("top_p", st.floats(0, 1)),
        ("top_k", st.integers(1, 100)),
        ("seed", st.integers(0, 2**31 - 1)),
        ("presence_penalty", _PENALTIES),
        ("frequency_penalty", _PENALTIES),
    ):
        if draw(st.booleans()):
            setattr(request, name, draw(values))
    request.stop_sequences.extend(draw(st.lists(TEXTS, max_size=5, unique=True)))
    return request


@st.composite
def responses(draw: Any) -> MessageResponse:
    """An answer of one choice: reasoning, text, calls."""
    parts: list[Part] = []
    if draw(st.booleans()):
        parts.append(Part(reasoning=Reasoning(text=draw(TEXTS))))
    names = draw(st.lists(NAMES, max_size=2))
    if not names or draw(st.booleans()):
        parts.append(Part(text=draw(TEXTS)))
    calls = [ToolCall(id=f"call_{at}", name=name, arguments_json=draw(OBJECTS)) for at, name in enumerate(names)]
    parts.extend(Part(tool_call=call) for call in calls)
    reason = FINISH_REASON_TOOL_CALLS if names else draw(st.sampled_from([FINISH_REASON_STOP, FINISH_REASON_LENGTH]))
    answered, asked = draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6))
    return MessageResponse(
        id="answer-1",
        model="m",
        choices=[Choice(parts=parts, finish=Finish(reason=reason))],
        usage=Usage(input_tokens=asked, output_tokens=answered, total_tokens=asked + answered),
    )
