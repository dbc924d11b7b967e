"""What whole answers and streams for callers of Cohere share: how each part is said, and what is left out of it."""

from __future__ import annotations

from typing import Any, Final

from fluxrpc.protocols.cohere.citations import is_own
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_APPROXIMATED, NOTE_ACTION_DROPPED, NoteAction
from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, TEXT_PHASE_UNSPECIFIED, Citation, Part
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.response_pb2 import MessageResponse

__all__ = [
    "BLOCKS",
    "LAZY",
    "NO_ARGUMENTS",
    "note_answer",
    "note_citation",
    "note_part",
    "note_said",
    "text_in",
    "written_call",
]

NO_ARGUMENTS: Final = "{}"
BLOCKS: Final = {"text": "text", "refusal": "text", "audio": "text", "reasoning": "thinking"}
"""Kinds of parts to the block of content that says them, in the field of the same name."""
LAZY: Final = frozenset({"audio", "reasoning"})
"""Those of which nothing is written where they hold no text."""
_PHASES: Final = frozenset({TEXT_PHASE_UNSPECIFIED, TEXT_PHASE_PLAN})
_DROPPED: Final = {
    "image": "ANSWER_IMAGE",
    "server_tool_call": "ANSWER_SERVER_TOOLS",
    "server_tool_result": "ANSWER_SERVER_TOOLS",
}
"""Kinds of parts that have no place; those of all others are raw parts to Cohere."""
_SAID: Final[dict[tuple[str, bool], tuple[str, NoteAction.ValueType]]] = {
    ("refusal", True): ("ANSWER_REFUSAL", NOTE_ACTION_APPROXIMATED),
    ("audio", True): ("ANSWER_AUDIO", NOTE_ACTION_APPROXIMATED),
    ("audio", False): ("ANSWER_AUDIO", NOTE_ACTION_DROPPED),
    ("reasoning", False): ("ANSWER_REASONING", NOTE_ACTION_DROPPED),
}
"""Kind of a part, and whether it held text: what was done about it."""


def note_answer(response: MessageResponse, notes: Notes) -> None:
    """What an answer has around its choices."""
    if response.service_tier:
        notes.dropped("SERVICE_TIER", "service_tier")
    notes.foreign_extras(response.extras, PROTOCOL_COHERE, "", "ANSWER_EXTRA")


def note_part(part: Part, path: str, notes: Notes) -> None:
    """What a part has beside its content."""
    if part.opaque:
        notes.dropped("REASONING_STATE", f"{path}.opaque")
    if part.phase not in _PHASES:
        notes.dropped("TEXT_PHASE", f"{path}.phase")
    if any(token.alternatives for token in part.logprobs):
        notes.dropped("ANSWER_LOGPROBS", f"{path}.logprobs")
    for citation in part.citations:
        note_citation(citation, path, notes)
    notes.foreign_extras(part.extras, PROTOCOL_COHERE, path, "ANSWER_EXTRA")


def note_citation(citation: Citation, path: str, notes: Notes) -> None:
    """Sources that Cohere does not know become documents."""
    if not is_own(citation):
        notes.approximated("CITATION", f"{path}.citations")


def note_said(kind: str, path: str, notes: Notes, *, has_text: bool) -> None:
    """What became of a part of this kind, once it is known whether it held text."""
    if kind not in BLOCKS:
        notes.dropped(_DROPPED.get(kind, "ANSWER_RAW_PART"), path)
    elif (kind, has_text) in _SAID:
        code, action = _SAID[kind, has_text]
        notes.add(code, action, path)


def text_in(part: Part) -> str:
    """The words of a part that becomes a block; summaries where the reasoning itself is not shown."""
    reasoning = part.reasoning.text or "\n\n".join(part.reasoning.summaries)
    return part.text or part.refusal or part.audio.transcript or reasoning


def written_call(part: Part, arguments: str) -> dict[str, Any]:
    """A call of a tool."""
    call = part.tool_call
    function = {"name": call.name, "arguments": arguments}
    fields: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    merge_extras(fields, part.extras, PROTOCOL_COHERE)
    return fields
