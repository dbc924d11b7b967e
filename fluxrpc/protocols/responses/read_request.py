"""A request of OpenAI Responses to `MessageRequest`: the settings; `input` is read by `read_input`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from google.protobuf.duration_pb2 import Duration

from fluxrpc.protocols.base import ReadRequest
from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.notes import Places
from fluxrpc.protocols.responses.read_content import filled
from fluxrpc.protocols.responses.read_input import read_input
from fluxrpc.protocols.responses.read_tools import read_choice, read_tool
from fluxrpc.protocols.responses.words import (
    DISPLAYS,
    EFFORTS,
    OUTPUT_KINDS,
    TIERS,
    TTLS,
    VERBOSITIES,
    extra,
)
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES

__all__ = ["LOGPROBS", "read_request"]

LOGPROBS = "message.output_text.logprobs"
"""What `include` names to get probabilities."""
_ENCRYPTED = "reasoning.encrypted_content"
_NUMBERS = ("temperature", "top_p")
_INTEGERS = ("max_output_tokens", "max_tool_calls", "top_logprobs")
_FLAGS = ("parallel_tool_calls", "store")
_MODES = {"implicit": True, "explicit": False}
_LIMIT = 2**63
_SMALL_LIMIT = 2**32


def read_request(body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:  # noqa: ARG001  # has no versions
    """See `Translator.read_request`."""
    node = Node.root(body)
    request = pb.MessageRequest()
    model = node.text("model") or ""
    stream = bool(node.flag("stream"))
    read_input(node, request, places)
    if node.has_any(_TOOL_FIELDS):
        _read_tools(node, request, places)
    for keys, read in _GROUPS:
        if node.has_any(keys):
            read(node, request)
    node.carry(request, PROTOCOL_RESPONSES)
    return ReadRequest(message=request, model=model, stream=stream)


def _read_tools(node: Node, request: pb.MessageRequest, places: Places | None) -> None:
    is_list = node.is_list("tools")
    for index, each in enumerate(node.nodes("tools")):
        request.tools.append(read_tool(each))
        if places is not None:
            places[f"tools[{index}]"] = f"tools[{index}]"
    if is_list and not request.tools:
        request.extras.append(spelling(PROTOCOL_RESPONSES, "tools", "[]"))
    read_choice(node, request)


def _read_scalars(node: Node, request: pb.MessageRequest) -> None:
    for name in _NUMBERS:
        number = node.number(name)
        if number is not None:
            setattr(request, name, number)
    for name in _INTEGERS:
        count = node.integer(name)
        if count is not None:
            limit = _LIMIT if name == "max_output_tokens" else _SMALL_LIMIT
            if not 0 <= count < limit:
                raise node.fault(name, f"a whole number from 0 to {limit - 1}")
            setattr(request, name, count)
    for name in _FLAGS:
        flag = node.flag(name)
        if flag is not None:
            setattr(request, name, flag)
    word = node.text("service_tier")
    if word is not None:
        tier, request.service_tier_raw = TIERS.read(word)
        request.service_tier = pb.ServiceTier.ValueType(tier)


def _read_reasoning(node: Node, request: pb.MessageRequest) -> None:
    found = _container(node, request, "reasoning")
    if found is None:
        return
    options = pb.ReasoningOptions()
    effort, options.effort_raw = EFFORTS.read(found.text("effort"))
    options.effort = pb.ReasoningEffort.ValueType(effort)
    display, options.display_raw = DISPLAYS.read(found.text("summary"))
    options.display = pb.ReasoningDisplay.ValueType(display)
    if options.ByteSize():
        request.reasoning.CopyFrom(options)
    request.extras.extend(found.extras(PROTOCOL_RESPONSES, "reasoning."))


def _read_text(node: Node, request: pb.MessageRequest) -> None:
    found = _container(node, request, "text")
    if found is None:
        return
    verbosity, request.verbosity_raw = VERBOSITIES.read(found.text("verbosity"))
    request.verbosity = pb.Verbosity.ValueType(verbosity)
    form = found.node("format")
    if form is not None:
        _read_format(form, request)
    request.extras.extend(found.extras(PROTOCOL_RESPONSES, "text."))


def _read_format(form: Node, request: pb.MessageRequest) -> None:
    kind = form.text("type")
    if kind not in OUTPUT_KINDS:
        request.extras.append(extra("text.format.type", _json(kind)))
    else:
        output = request.output_format
        output.kind = OUTPUT_KINDS[kind]
        if kind == "json_schema":
            if not form.is_object("schema"):
                raise form.fault("schema", "an object")
            output.schema_json = form.json("schema")
            output.name = filled(form, "name")
            output.description = filled(form, "description")
            strict = form.flag("strict")
            if strict is not None:
                output.strict = strict
    request.extras.extend(form.extras(PROTOCOL_RESPONSES, "text.format."))


def _read_include(node: Node, request: pb.MessageRequest) -> None:
    if not node.is_list("include"):
        return
    spelt = bytes(node.peek("include")).decode()
    words = node.texts("include")
    if LOGPROBS in words:
        request.logprobs = True
    rest = [word for word in words if word not in {LOGPROBS, _ENCRYPTED}]
    if rest:
        request.extras.append(extra("include", _json(rest)))
    request.extras.append(spelling(PROTOCOL_RESPONSES, "include", spelt))


def _read_identity(node: Node, request: pb.MessageRequest) -> None:
    request.end_user_id = filled(node, "safety_identifier")
    if not request.end_user_id and (user := filled(node, "user")):
        request.end_user_id = user
        request.extras.append(spelling(PROTOCOL_RESPONSES, "user", _json(request.end_user_id)))
    names = msgspec.json.decode(node.peek("metadata"))
    labels = _container(node, request, "metadata")
    if labels is not None:
        for name in names:
            label = labels.text(name)
            if label is not None:
                request.metadata[name] = label
        request.extras.extend(labels.extras(PROTOCOL_RESPONSES, "metadata."))


def _read_cache(node: Node, request: pb.MessageRequest) -> None:
    if key := filled(node, "prompt_cache_key"):
        request.cache.key = key
    options = _container(node, request, "prompt_cache_options")
    if options is None:
        return
    mode = options.text("mode")
    if mode in _MODES:
        request.cache.automatic = _MODES[mode]
    elif mode is not None:
        request.extras.append(extra("prompt_cache_options.mode", _json(mode)))
    ttl = options.text("ttl")
    if ttl in TTLS:
        request.cache.ttl.CopyFrom(Duration(seconds=TTLS[ttl]))
    elif ttl is not None:
        request.extras.append(extra("prompt_cache_options.ttl", _json(ttl)))
    request.extras.extend(options.extras(PROTOCOL_RESPONSES, "prompt_cache_options."))


def _read_state(node: Node, request: pb.MessageRequest) -> None:
    if previous := filled(node, "previous_response_id"):
        request.provider_state.previous_response_id = previous
    if node.is_object("conversation"):
        spelt = bytes(node.peek("conversation")).decode()
        found = node.node("conversation")
        conversation = found.text("id") if found else None
        request.extras.append(spelling(PROTOCOL_RESPONSES, "conversation", spelt))
    else:
        conversation = filled(node, "conversation")
    if conversation:
        request.provider_state.conversation_id = conversation


_TOOL_FIELDS = frozenset({"tools", "tool_choice"})
_GROUPS: tuple[tuple[frozenset[str], Callable[[Node, pb.MessageRequest], None]], ...] = (
    (frozenset({*_NUMBERS, *_INTEGERS, *_FLAGS, "service_tier"}), _read_scalars),
    (frozenset({"reasoning"}), _read_reasoning),
    (frozenset({"text"}), _read_text),
    (frozenset({"include"}), _read_include),
    (frozenset({"safety_identifier", "user", "metadata"}), _read_identity),
    (frozenset({"prompt_cache_key", "prompt_cache_options"}), _read_cache),
    (frozenset({"previous_response_id", "conversation"}), _read_state),
)
"""The fields that are read together, and what reads them: most bodies hold few of them."""


def _container(node: Node, request: pb.MessageRequest, key: str) -> Node | None:
    """An object of settings; that it was there without any is kept."""
    if bytes(node.peek(key)).replace(b" ", b"") == b"{}":
        request.extras.append(spelling(PROTOCOL_RESPONSES, key, "{}"))
    return node.node(key)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
