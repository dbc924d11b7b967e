"""`MessageRequest` to a request body of Anthropic Messages, in the order in which one decision needs another.

Tools come first (their breakpoints and names), then reasoning, which forbids some choices and sampling parameters, then
what becomes a sentence among the instructions, and the conversation last.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.anthropic.draft import Draft
from fluxrpc.protocols.anthropic.words import ANTHROPIC, DEFAULT_VERSION
from fluxrpc.protocols.anthropic.write_messages import write_conversation
from fluxrpc.protocols.anthropic.write_reasoning import write_reasoning
from fluxrpc.protocols.anthropic.write_settings import write_output, write_settings
from fluxrpc.protocols.anthropic.write_tools import MCP_BETA, write_choice, write_tools
from fluxrpc.protocols.base import WireRequest
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import MessageRequest

__all__ = ["write_request"]

PATH = "/v1/messages"

_TOOL_FIELDS = frozenset({"tools", "tool_choice", "parallel_tool_calls"})
_ORDER = ("model", "max_tokens", "system", "messages", "tools", "tool_choice", "thinking", "output_config")
"""Keys that come first, for people who read bodies; the model and the limit before everything that is long."""


def write_request(request: MessageRequest, context: Context, notes: Notes) -> WireRequest:
    """See `Translator.write_request`.

    Raises:
        InvalidRequest: nothing of the conversation is left, or a schema cannot be said.
    """
    draft = Draft.of(context, notes)
    asks_for_tools = not _TOOL_FIELDS.isdisjoint(draft.said)
    if asks_for_tools:
        write_tools(draft)
    write_reasoning(draft)
    if asks_for_tools:
        write_choice(draft)
    if "output_format" in draft.said:
        write_output(draft)
    write_settings(draft)
    write_conversation(draft)
    draft.limit_breakpoints()
    if "extras" in draft.said:
        merge_extras(draft.body, request.extras, ANTHROPIC)
        notes.foreign_extras(request.extras, ANTHROPIC, "")
    return WireRequest(path=PATH, body=msgspec.json.encode(_ordered(draft)), headers=_headers(draft))


def _ordered(draft: Draft) -> dict[str, Any]:
    body = draft.body
    body["model"] = draft.context.target.model
    ordered = {key: body.pop(key) for key in _ORDER if key in body}
    ordered |= body
    if draft.context.stream:
        ordered["stream"] = True
    return ordered


def _headers(draft: Draft) -> tuple[tuple[str, str], ...]:
    headers = []
    version = draft.context.target.version
    if version not in ("", DEFAULT_VERSION):
        headers.append(("anthropic-version", version))
    if "mcp_servers" in draft.body and not draft.exact:
        headers.append(("anthropic-beta", MCP_BETA))
    return tuple(headers)
