"""A request for Cohere Chat, version 2, out of the IR.

Numbers beyond its ranges are moved to their ends, not scaled: 1.0 is the neutral temperature everywhere. Ranges:
https://docs.cohere.com/reference/chat.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

import msgspec

from fluxrpc.ir.presence import present
from fluxrpc.protocols.base import Protocol, WireRequest
from fluxrpc.protocols.cohere.documents import is_sayable, written_documents
from fluxrpc.protocols.cohere.native import PATH
from fluxrpc.protocols.cohere.words import CITATION_MODES
from fluxrpc.protocols.cohere.write_messages import MessageWriter
from fluxrpc.protocols.cohere.write_output import written_format
from fluxrpc.protocols.cohere.write_reasoning import is_off, written_thinking
from fluxrpc.protocols.cohere.write_tools import ToolWriter
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gates import is_neutral
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.v1.message_pb2 import SERVICE_TIER_AUTO, SERVICE_TIER_STANDARD, SERVICE_TIER_UNSPECIFIED, MessageRequest
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.usage_pb2 import MODALITY_TEXT

__all__ = ["write_request"]

# https://docs.cohere.com/docs/tool-use-parameter-types: letters, digits and underscores, no digit in front.
_LEGAL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_]")
_MAX_STOPS: Final = 5
_SEEDS: Final = 2**32
_USUAL_TIERS: Final = frozenset({SERVICE_TIER_UNSPECIFIED, SERVICE_TIER_AUTO, SERVICE_TIER_STANDARD})


class _Range(NamedTuple):
    """What Cohere takes of one number."""

    key: str
    name: str
    code: str
    least: float
    most: float
    drops_below: bool = False
    """What is below has another meaning than the least value, and is left out."""


_RANGES: Final = (
    _Range("max_tokens", "max_output_tokens", "MAX_OUTPUT_TOKENS", 1, math.inf),
    _Range("temperature", "temperature", "TEMPERATURE", 0.0, 1.0),
    _Range("p", "top_p", "TOP_P", 0.01, 0.99),
    _Range("k", "top_k", "TOP_K", 0, 500),
    _Range("frequency_penalty", "frequency_penalty", "FREQUENCY_PENALTY", 0.0, 1.0, drops_below=True),
    _Range("presence_penalty", "presence_penalty", "PRESENCE_PENALTY", 0.0, 1.0, drops_below=True),
)

_SAMPLING: Final = frozenset({*(limits.name for limits in _RANGES), "seed", "stop_sequences", "logprobs"})
_TOOL_FIELDS: Final = frozenset({"tools", "tool_choice", "parallel_tool_calls", "max_tool_calls"})
_UNSAYABLE: Final[tuple[tuple[str, str, Callable[[MessageRequest], bool]], ...]] = (
    ("CHOICE_COUNT", "choice_count", lambda request: request.choice_count > 1),
    ("TOP_LOGPROBS", "top_logprobs", lambda request: request.top_logprobs > 0),
    ("VERBOSITY", "verbosity", lambda request: bool(request.verbosity)),
    ("OUTPUT_MODALITIES", "output_modalities", lambda request: any(map(_is_no_text, request.output_modalities))),
    ("SPEECH", "speech", lambda request: request.HasField("speech")),
    ("CACHE_OPTIONS", "cache", lambda request: request.HasField("cache")),
    ("SERVICE_TIER", "service_tier", lambda request: request.service_tier not in _USUAL_TIERS),
    ("END_USER_ID", "end_user_id", lambda request: bool(request.end_user_id)),
    ("METADATA", "metadata", lambda request: bool(request.metadata)),
    ("STORE", "store", lambda request: request.store),
    ("PROVIDER_STATE", "provider_state", lambda request: request.HasField("provider_state")),
)
"""Concept, field, and whether the request says anything with it beyond what holds anyway."""


def write_request(request: MessageRequest, context: Context, notes: Notes) -> WireRequest:
    """See `Translator.write_request`."""
    names = ToolNames(context, notes, _LEGAL_NAME, _ILLEGAL)
    messages = MessageWriter(context, notes, names)
    body: dict[str, Any] = {
        "model": context.target.model,
        "stream": context.stream,
        "messages": messages.written(request.messages),
    }
    said = present(request)
    if not _TOOL_FIELDS.isdisjoint(said):
        body |= ToolWriter(context, notes, names).fields(request)
    documents = (_documents(request, notes) if "documents" in said else []) + messages.documents
    if documents:
        body["documents"] = documents
    _write_settings(body, request, said, context, notes)
    for code, name, says in _UNSAYABLE:
        if name in said and says(request):
            notes.dropped(code, name)
    if "extras" in said:
        notes.foreign_extras(request.extras, PROTOCOL_COHERE, "")
        merge_extras(body, request.extras, PROTOCOL_COHERE)
    if "safety_mode_off" in context.target.gates.refused and bytes(body.get("safety_mode", b"")) == b'"OFF"':
        del body["safety_mode"]
        notes.dropped("EXTRA_FIELD", "safety_mode")
    return WireRequest(path=PATH, body=msgspec.json.encode(body))


def _write_settings(
    body: dict[str, Any], request: MessageRequest, said: AbstractSet[str], context: Context, notes: Notes
) -> None:
    """How the answer is made: what is said of it."""
    if "citation_mode" in said:
        _write_citation_mode(body, request, context, notes)
    if "output_format" in said:
        form = written_format(request.output_format, context, notes, is_crowded="tools" in body or "documents" in body)
        body |= {"response_format": form} if form else {}
    if "reasoning" in said:
        thinking = written_thinking(request, context, notes)
        body |= {"thinking": thinking} if thinking else {}
    if not _SAMPLING.isdisjoint(said):
        _write_sampling(body, request, said, context, notes)


def _is_no_text(modality: int) -> bool:
    return modality != MODALITY_TEXT


def _documents(request: MessageRequest, notes: Notes) -> list[Any]:
    documents = []
    for index, document in enumerate(request.documents):
        if is_sayable(document):
            documents.append(document)
            if document.source or document.context:
                notes.dropped("DOCUMENT_TITLE", f"documents[{index}]")
        else:
            notes.dropped("RAG_DOCUMENTS", f"documents[{index}]")
    return written_documents(documents)


def _write_citation_mode(body: dict[str, Any], request: MessageRequest, context: Context, notes: Notes) -> None:
    word = CITATION_MODES.written(request.citation_mode)
    if context.caller is Protocol.COHERE:
        word = request.citation_mode_raw or word
    if word:
        body["citation_options"] = {"mode": word}
    else:
        notes.dropped("CITATION_MODE", "citation_mode")


def _write_sampling(
    body: dict[str, Any], request: MessageRequest, said: AbstractSet[str], context: Context, notes: Notes
) -> None:
    gates = context.target.gates
    is_own = context.caller is Protocol.COHERE
    refused = gates.refused | gates.ignored
    if not is_off(request.reasoning):
        refused |= gates.refused_while_reasoning
    for limits in _RANGES:
        if limits.name not in said:
            continue
        value = getattr(request, limits.name)
        if limits.name in refused:
            notes.dropped(limits.code, limits.name, minor=is_neutral(limits.name, value))
            continue
        written = value if is_own else _within(limits, value, notes)
        if written is not None:
            body[limits.key] = written
    if not is_own and body.get("frequency_penalty") and body.get("presence_penalty"):
        # Some models refuse both at once: https://docs.cohere.com/reference/chat.
        del body["presence_penalty"]
        notes.dropped("PRESENCE_PENALTY", "presence_penalty", "not together with frequency_penalty")
    if gates.one_of_temperature_and_top_p and "temperature" in body and body.pop("p", None) is not None:
        notes.dropped("TOP_P", "top_p")
    _write_seed(body, request, refused, notes)
    _write_stops(body, request, context, notes, is_refused="stop_sequences" in refused)
    if request.HasField("logprobs"):
        if "logprobs" in refused:
            notes.dropped("LOGPROBS", "logprobs")
        else:
            body["logprobs"] = request.logprobs


def _within(limits: _Range, value: float, notes: Notes) -> float | None:
    if value < limits.least and limits.drops_below:
        notes.dropped(limits.code, limits.name)
        return None
    written = min(max(value, limits.least), limits.most)
    if written != value:
        notes.clamped(limits.code, limits.name)
    return written


def _write_seed(body: dict[str, Any], request: MessageRequest, refused: frozenset[str], notes: Notes) -> None:
    """Seeds are not negative here; those of 32 bits keep all that they say."""
    if not request.HasField("seed"):
        return
    if "seed" in refused:
        notes.dropped("SEED", "seed")
        return
    if request.seed < 0:
        notes.approximated("SEED", "seed")
    body["seed"] = request.seed if request.seed >= 0 else request.seed % _SEEDS


def _write_stops(
    body: dict[str, Any], request: MessageRequest, context: Context, notes: Notes, *, is_refused: bool
) -> None:
    stops = list(request.stop_sequences)
    taken = 0 if is_refused else len(stops) if context.caller is Protocol.COHERE else _MAX_STOPS
    if stops[:taken]:
        body["stop_sequences"] = stops[:taken]
    if stops[taken:]:
        context.stops = tuple(stops[taken:])
        notes.emulated("STOP_SEQUENCES", "stop_sequences")
