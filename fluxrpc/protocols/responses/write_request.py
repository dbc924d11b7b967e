"""`MessageRequest` to a request of OpenAI Responses."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fluxrpc.protocols.base import Protocol, WireRequest
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses.native import PATH
from fluxrpc.protocols.responses.read_input import STRING
from fluxrpc.protocols.responses.words import extras_of, find_extra
from fluxrpc.protocols.responses.write_content import ContentWriter
from fluxrpc.protocols.responses.write_history import HistoryWriter, is_instructions
from fluxrpc.protocols.responses.write_settings import SettingsWriter
from fluxrpc.protocols.responses.write_tools import ToolWriter
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.protocols.turns import nothing_said
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES

__all__ = ["settings", "write_request"]

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_MAX_MARKS = 4
_UNMARKED = frozenset({pb.ROLE_ASSISTANT, pb.ROLE_TOOL})
_JSON_HINT = "Answer in JSON."
"""JSON without a schema is refused unless the input holds the word."""
_GOES_ON = frozenset({"previous_response_id", "conversation_id"})
_TOOL_FIELDS = frozenset({"tools", "tool_choice"})
_BY_HAND = frozenset({"~input", "~include", "~tool_choice", "include"})
"""Extras whose fields are written with a look at them, not over."""


def write_request(request: pb.MessageRequest, context: Context, notes: Notes) -> WireRequest:
    """See `Translator.write_request`."""
    exact = context.caller is Protocol.RESPONSES
    names = None if exact else ToolNames(context, notes, _LEGAL, _ILLEGAL)
    fields: dict[str, Any] = {"model": context.target.model}
    fields |= settings(request, context, notes, names)
    said = _input(request, context, notes, names)
    if said is not None:
        fields["input"] = said
    if context.stream:
        fields["stream"] = True
        if not exact:
            # Padding against eavesdroppers on the line between provider and us: nobody reads it.
            fields["stream_options"] = {"include_obfuscation": False}
    if request.extras:
        extras = [each for each in extras_of(request.extras) if each.key not in _BY_HAND]
        merge_extras(fields, extras, PROTOCOL_RESPONSES)
        notes.foreign_extras(request.extras, PROTOCOL_RESPONSES, "")
    if not context.stream:
        fields.pop("stream_options", None)
    return WireRequest(path=PATH, body=msgspec.json.encode(fields))


def settings(request: pb.MessageRequest, context: Context, notes: Notes, names: ToolNames | None) -> dict[str, Any]:
    """All fields but the model, the input and the stream switch. Answers repeat them."""
    exact = context.caller is Protocol.RESPONSES
    settings_writer = SettingsWriter(context=context, notes=notes, exact=exact, fields={})
    fields = settings_writer.write(request)
    said = settings_writer.said
    for message in request.messages:
        if is_instructions(message):
            fields["instructions"] = message.text
    if not _TOOL_FIELDS.isdisjoint(said):
        tools = ToolWriter(context=context, notes=notes, names=names, exact=exact)
        if written := tools.tools(request):
            fields["tools"] = written
        if (choice := tools.choice(request, written)) is not None:
            fields["tool_choice"] = choice
    if "store" in said:
        fields["store"] = request.store
    elif not exact:
        fields["store"] = False
    if "provider_state" in said:
        _write_state(fields, request.provider_state, notes)
    return fields


def _write_state(fields: dict[str, Any], state: pb.ProviderState, notes: Notes) -> None:
    if state.previous_response_id:
        fields["previous_response_id"] = state.previous_response_id
    if state.conversation_id:
        fields["conversation"] = state.conversation_id
    for name in ("cached_content", "container_id", "continuation"):
        if name in {field.name for field, _ in state.ListFields()}:
            notes.dropped("PROVIDER_STATE", f"provider_state.{name}")


def _input(request: pb.MessageRequest, context: Context, notes: Notes, names: ToolNames | None) -> Any:
    """The conversation; None where there is none, because the request goes on from state of the provider's."""
    exact = context.caller is Protocol.RESPONSES
    spelt = find_extra(request.extras, "~input") if exact else ""
    if spelt == STRING:
        return request.messages[-1].text
    content = ContentWriter(caller=context.caller, notes=notes, marks=_marks(request, context, exact=exact))
    history = HistoryWriter(context=context, notes=notes, names=names, content=content)
    items = history.items(request.messages)
    if request.documents:
        _put_documents(items, request, content, notes)
    if (
        not items
        and not spelt
        and not exact
        and not _GOES_ON & {each.name for each, _ in request.provider_state.ListFields()}
    ):
        raise nothing_said(notes)
    if (
        request.output_format.kind == pb.OUTPUT_KIND_JSON
        and not exact
        and b"json" not in msgspec.json.encode(items).lower()
    ):
        notes.injected("OUTPUT_JSON", "output_format")
        items.insert(0, {"role": "developer", "content": _JSON_HINT})
    return items if items or spelt else None


def _marks(request: pb.MessageRequest, context: Context, *, exact: bool) -> frozenset[str] | None:
    """The parts whose breakpoints are written: the last four, for more are refused; None = all that there are."""
    if "cache_breakpoint" in context.target.gates.refused:
        return frozenset()
    if exact:
        return None
    marked = [
        f"messages[{at}].parts[{index}]"
        for at, message in enumerate(request.messages)
        if message.role not in _UNMARKED
        for index, part in enumerate(message.parts)
        if part.HasField("cache_breakpoint")
    ]
    return frozenset(marked[-_MAX_MARKS:])


def _put_documents(items: list[Any], request: pb.MessageRequest, content: ContentWriter, notes: Notes) -> None:
    """Documents for the whole conversation go to the head of the last thing that the user says."""
    notes.approximated("RAG_DOCUMENTS", "documents")
    pieces: list[Any] = []
    for at, document in enumerate(request.documents):
        pieces.extend(content.given(Part(document=document), f"documents[{at}]"))
    user = next((item for item in reversed(items) if isinstance(item, dict) and item.get("role") == "user"), None)
    if user is None:
        user = {"role": "user", "content": []}
        items.append(user)
    said = user["content"]
    if isinstance(said, str):
        said = [{"type": "input_text", "text": said}]
    user["content"] = [*pieces, *said]
