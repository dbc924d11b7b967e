"""What a request asks of a model, in the words of `ModelCapabilities`, and which of it a model is known to lack.

Not about protocols: what one of them cannot say, its writer notes. The length of a prompt is not judged here, because
only the provider counts its tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fluxrpc.protocols.gates import ModelCapabilities
from fluxrpc.v1.message_pb2 import (
    OUTPUT_KIND_ENUM,
    OUTPUT_KIND_JSON_SCHEMA,
    REASONING_EFFORT_NONE,
    REASONING_MODE_ADAPTIVE,
    REASONING_MODE_BETWEEN_TOOLS,
    REASONING_MODE_ON,
    ROLE_ASSISTANT,
    Message,
    MessageRequest,
    ReasoningOptions,
)
from fluxrpc.v1.part_pb2 import Document, Part
from fluxrpc.v1.usage_pb2 import MODALITY_AUDIO

__all__ = ["CAPABILITIES", "missing", "requires"]

CAPABILITIES = ("vision", "audio", "documents", "tools", "json_schema", "reasoning", "prefill")
"""Everything that a request can need, in the order in which it is told."""

_MEDIA = {"image": "vision", "audio": "audio"}
_SCHEMAS = frozenset({OUTPUT_KIND_JSON_SCHEMA, OUTPUT_KIND_ENUM})
_REASONS = frozenset({REASONING_MODE_ON, REASONING_MODE_ADAPTIVE, REASONING_MODE_BETWEEN_TOOLS})
_CALLS = frozenset({"tool_call", "server_tool_call", "server_tool_result"})


def requires(request: MessageRequest) -> frozenset[str]:
    """The capabilities that a request needs.

    Documents of text are not among them: whoever cannot read documents can read text.
    """
    needs = set(_of_parts(part for message in request.messages for part in message.parts))
    for document in request.documents:
        needs.update(_of_document(document))
    if MODALITY_AUDIO in request.output_modalities:
        needs.add("audio")
    if request.tools:
        needs.add("tools")
    if request.output_format.kind in _SCHEMAS:
        needs.add("json_schema")
    if _asks_to_reason(request.reasoning):
        needs.add("reasoning")
    if request.messages and _is_prefill(request.messages[-1]):
        needs.add("prefill")
    return frozenset(needs)


def missing(needs: frozenset[str], capabilities: ModelCapabilities) -> tuple[str, ...]:
    """Which of the needs a model is known not to meet; what is not known of it stands in nobody's way."""
    return tuple(name for name in CAPABILITIES if name in needs and getattr(capabilities, name) is False)


def _of_parts(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        kind = part.WhichOneof("kind")
        if kind in _MEDIA:
            yield _MEDIA[kind]
        elif kind == "document":
            yield from _of_document(part.document)
        elif kind == "tool_result":
            yield from _of_parts(part.tool_result.parts.parts)


def _of_document(document: Document) -> Iterator[str]:
    if document.HasField("media"):
        yield "documents"
    yield from _of_parts(document.parts.parts)


def _asks_to_reason(options: ReasoningOptions) -> bool:
    return options.mode in _REASONS or options.effort > REASONING_EFFORT_NONE or options.budget_tokens > 0


def _is_prefill(last: Message) -> bool:
    """An assistant message at the end, unless it waits for the results of its calls."""
    return last.role == ROLE_ASSISTANT and not any(part.WhichOneof("kind") in _CALLS for part in last.parts)
