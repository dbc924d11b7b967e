"""Reasoning and its state in the fields that copies of OpenAI Chat Completions have added, which OpenAI itself lacks.

Text: `reasoning_content` (DeepSeek and most), `reasoning` (vLLM, OpenRouter), else what `reasoning_details`
(OpenRouter) or `thinking_blocks` (LiteLLM) say. State: the details that hold a signature or encrypted data, the
signatures of blocks, and `extra_content.google.thought_signature` (Google's own copy) on calls and messages.

Towards clients, state of other protocols stands in `reasoning_details` as `{"type": "reasoning.encrypted", "data":
<envelope>, "format": "fluxrpc"}`; Gemini's signatures stand where Google's copy has them. Both are read back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from fluxrpc.protocols.envelope import seal, unseal
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.openai.wire_fields import json_of
from fluxrpc.protocols.openai.words import OPENAI
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_REASONING_DETAIL,
    OPAQUE_KIND_SIGNATURE,
    PROTOCOL_GEMINI,
    OpaqueState,
)

__all__ = [
    "BLOCKS",
    "ENVELOPE_FORMAT",
    "REASONING_FIELDS",
    "ReasoningFields",
    "Thought",
    "own_json",
    "signature_of",
    "signature_text",
    "state_fields",
    "thought_of",
]

BLOCKS = "thinking_blocks"
"""`OpaqueState.kind_raw` of a block's signature."""
ENVELOPE_FORMAT = "fluxrpc"
"""Marks a detail as one of ours."""
_DETAIL_TEXTS = ("text", "summary")
_DETAIL_STATES = ("data", "signature")


class ReasoningFields(Struct):
    """The fields of a message or a delta that speak of reasoning; whatever a copy puts there."""

    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    thinking_blocks: Any = None


REASONING_FIELDS = ReasoningFields.__struct_fields__


class Thought(NamedTuple):
    """What a message or a delta says of reasoning."""

    text: str
    states: list[OpaqueState]


def thought_of(fields: ReasoningFields) -> Thought:
    """The reasoning that the fields tell of."""
    details = _objects(fields.reasoning_details)
    blocks = _objects(fields.thinking_blocks)
    plain = [text for text in (fields.reasoning_content, fields.reasoning) if isinstance(text, str) and text]
    text = (
        plain[0]
        if plain
        else "".join(_text_in(detail, _DETAIL_TEXTS) for detail in details)
        or "".join(_text_in(block, ("thinking",)) for block in blocks)
    )
    states = [_detail_state(detail, at) for at, detail in enumerate(details) if _text_in(detail, _DETAIL_STATES)]
    states += [
        OpaqueState(kind=OPAQUE_KIND_SIGNATURE, kind_raw=BLOCKS, origin=OPENAI, value=json_of(block).encode())
        for block in blocks
        if _text_in(block, ("signature",))
    ]
    return Thought(text, states)


def signature_of(extra_content: Any) -> OpaqueState | None:
    """Gemini's signature in the `extra_content` of a call or a message."""
    google = extra_content.get("google") if isinstance(extra_content, dict) else None
    text = google.get("thought_signature") if isinstance(google, dict) else None
    if not isinstance(text, str) or not text:
        return None
    return OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_GEMINI, value=text.encode())


def signature_text(part: Part) -> str:
    """Gemini's signature on a part, to be written as Google's copy does; "" where there is none."""
    for state in part.opaque:
        if state.origin == PROTOCOL_GEMINI and state.kind == OPAQUE_KIND_SIGNATURE:
            return state.value.decode(errors="replace")
    return ""


def state_fields(states: Iterable[OpaqueState]) -> dict[str, list[Any]]:
    """`reasoning_details` and `thinking_blocks` for a client, as far as there is something to put there."""
    fields: dict[str, list[Any]] = {}
    for state in states:
        own = own_json(state)
        if own is None:
            detail = {"type": "reasoning.encrypted", "data": seal(state), "format": ENVELOPE_FORMAT}
            fields.setdefault("reasoning_details", []).append(detail)
        else:
            fields.setdefault(BLOCKS if state.kind_raw == BLOCKS else "reasoning_details", []).append(own)
    return fields


def own_json(state: OpaqueState) -> msgspec.Raw | None:
    """The record that a copy of this protocol handed out; None for state that is something else."""
    if state.origin != OPENAI or not state.value.startswith(b"{"):
        return None
    try:
        msgspec.json.decode(state.value, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return None
    return raw(state.value.decode(errors="replace"))


def _detail_state(detail: dict[str, Any], at: int) -> OpaqueState:
    sealed = unseal(_text_in(detail, ("data",)))
    if sealed is not None:
        return sealed
    kind = f"{detail.get('type')}/{detail.get('index', at)}"
    return OpaqueState(kind=OPAQUE_KIND_REASONING_DETAIL, kind_raw=kind, origin=OPENAI, value=json_of(detail).encode())


def _text_in(record: dict[str, Any], keys: Iterable[str]) -> str:
    """The first string under one of the keys."""
    for key in keys:
        text = record.get(key)
        if isinstance(text, str) and text:
            return text
    return ""


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
