"""A request of Cohere Chat, version 2, into the IR.

Seeds beyond 63 bits lose their highest bit: the IR has no room for it. `safety_mode` and `priority` have no counterpart
elsewhere and are carried.
"""

from __future__ import annotations

from typing import Final

import msgspec

from fluxrpc.protocols.base import ReadRequest
from fluxrpc.protocols.cohere.citations import same_json
from fluxrpc.protocols.cohere.documents import read_document, written_documents
from fluxrpc.protocols.cohere.read_messages import read_messages, spelt
from fluxrpc.protocols.cohere.words import (
    CITATION_MODES,
    REASONING_MODES,
    TOOL_CHOICES,
    object_json,
    required_text,
    whole_number,
)
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.notes import Places
from fluxrpc.v1.message_pb2 import (
    OUTPUT_KIND_JSON,
    OUTPUT_KIND_JSON_SCHEMA,
    OUTPUT_KIND_TEXT,
    MessageRequest,
    OutputKind,
    Tool,
)
from fluxrpc.v1.part_pb2 import Document
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.tool_pb2 import ProviderTool

__all__ = ["read_request"]

_NUMBERS: Final = {
    "temperature": "temperature",
    "p": "top_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
_INTEGERS: Final = {"max_tokens": "max_output_tokens", "k": "top_k"}
_LISTS: Final = ("tools", "documents", "stop_sequences")
_FORMATS: Final[dict[str, OutputKind.ValueType]] = {"text": OUTPUT_KIND_TEXT, "json_object": OUTPUT_KIND_JSON}
_USUAL_SAFETY: Final = b'"CONTEXTUAL"'
"""The default, so that others lose nothing without it."""
_SEED_BITS: Final = 2**63 - 1
_MOST_SEED: Final = 2**64 - 1


def read_request(body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:
    """See `Translator.read_request`."""
    del version
    node = Node.root(body)
    places = {} if places is None else places
    request = MessageRequest()
    model = node.text("model") or ""
    stream = node.flag("stream")
    request.messages.extend(read_messages(node, places))
    if bytes(node.peek("safety_mode")) == _USUAL_SAFETY:
        request.extras.append(spelt("safety_mode", node.peek("safety_mode")))
        node.take("safety_mode")
    for key in _LISTS:
        if bytes(node.peek(key)) == b"[]":
            request.extras.append(spelt(key, node.peek(key)))
    _read_options(request, node)
    _read_tools(request, node, places)
    _read_documents(request, node, places)
    _read_thinking(request, node)
    _read_format(request, node)
    request.extras.extend(node.extras(PROTOCOL_COHERE))
    return ReadRequest(message=request, model=model, stream=bool(stream))


def _read_options(request: MessageRequest, node: Node) -> None:
    for key, name in _NUMBERS.items():
        number = node.number(key)
        if number is not None:
            setattr(request, name, number)
    for key, name in _INTEGERS.items():
        whole = whole_number(node, key)
        if whole is not None:
            setattr(request, name, whole)
    spelt_seed = node.peek("seed")
    seed = whole_number(node, "seed", most=_MOST_SEED)
    if seed is not None:
        request.seed = min(seed, seed & _SEED_BITS)
        if request.seed != seed:
            request.extras.append(spelt("seed", spelt_seed))
    logprobs = node.flag("logprobs")
    if logprobs is not None:
        request.logprobs = logprobs
    request.stop_sequences.extend(node.texts("stop_sequences"))


def _read_tools(request: MessageRequest, node: Node, places: Places) -> None:
    strict_spelt = node.peek("strict_tools")
    strict = node.flag("strict_tools")
    for tool in node.nodes("tools"):
        request.tools.append(_read_tool(tool))
        if strict is not None and request.tools[-1].HasField("function"):
            request.tools[-1].function.strict = strict
        places[tool.path] = tool.path
    if strict is not None:
        request.extras.append(spelt("strict_tools", strict_spelt))
    word = node.text("tool_choice")
    if word is not None:
        mode, request.tool_choice.mode_raw = TOOL_CHOICES.read(word)
        request.tool_choice.mode = mode  # type: ignore[assignment]  # a value of the table


def _read_tool(node: Node) -> Tool:
    """A function; a tool of another type is the provider's own."""
    word = node.text("type") or "function"
    function = node.node("function")
    if word != "function" or function is None:
        tool = Tool(provider=ProviderTool(type=word))
        if function is not None:
            tool.extras.extend(function.extras(PROTOCOL_COHERE, "function."))
        tool.extras.extend(node.extras(PROTOCOL_COHERE))
        return tool
    tool = Tool()
    tool.function.name = required_text(function, "name")
    if bytes(function.peek("description")) == b'""':
        tool.extras.append(spelt("function.description", function.peek("description")))
    tool.function.description = function.text("description") or ""
    tool.function.parameters_json = object_json(function, "parameters")
    tool.extras.extend(function.extras(PROTOCOL_COHERE, "function."))
    tool.extras.extend(node.extras(PROTOCOL_COHERE))
    return tool


def _read_documents(request: MessageRequest, node: Node, places: Places) -> None:
    found = node.peek("documents")
    for index, item in node.items("documents"):
        places[f"documents[{index}].document"] = f"documents[{index}]"  # writers take them for parts
        request.documents.append(_read_document(node, f"documents[{index}]", item))
    if request.documents and not same_json(written_documents(request.documents), found):
        request.extras.append(spelt("documents", found))
    options = node.node("citation_options")
    if options is None:
        return
    word = options.text("mode")
    if word is not None:
        mode, request.citation_mode_raw = CITATION_MODES.read(word)
        request.citation_mode = mode  # type: ignore[assignment]  # a value of the table
    request.extras.extend(options.extras(PROTOCOL_COHERE, "citation_options."))


def _read_document(node: Node, key: str, item: msgspec.Raw) -> Document:
    """A record or a plain string."""
    match bytes(item)[:1]:
        case b'"':
            return Document(text=msgspec.json.decode(item, type=str))
        case b"{":
            return read_document(Node(msgspec.json.decode(item, type=dict[str, msgspec.Raw]), node, key))
    raise node.fault(key, "a string or an object")


def _read_thinking(request: MessageRequest, node: Node) -> None:
    thinking = node.node("thinking")
    if thinking is None:
        return
    word = thinking.text("type")
    if word is not None:
        mode, request.reasoning.mode_raw = REASONING_MODES.read(word)
        request.reasoning.mode = mode  # type: ignore[assignment]  # a value of the table
    budget = whole_number(thinking, "token_budget")
    if budget is not None:
        request.reasoning.budget_tokens = budget
    request.extras.extend(thinking.extras(PROTOCOL_COHERE, "thinking."))


def _read_format(request: MessageRequest, node: Node) -> None:
    """`json_schema` is the field of the reference, `schema` that of the guide on structured outputs."""
    found = node.peek("response_format")
    form = node.node("response_format")
    if form is None:
        return
    word = form.text("type")
    if word not in _FORMATS or "schema" in form:
        request.extras.append(spelt("response_format", found))
    schema = object_json(form, "json_schema") or object_json(form, "schema")
    request.output_format.kind = _FORMATS.get(word or "", OUTPUT_KIND_TEXT)
    if schema and word == "json_object":
        request.output_format.kind = OUTPUT_KIND_JSON_SCHEMA
        request.output_format.schema_json = schema
    request.extras.extend(form.extras(PROTOCOL_COHERE, "response_format."))
