"""Words of Anthropic Messages for what the IR says with enums, and the few conventions that all its readers share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from fluxrpc.protocols.node import Node
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1 import tool_pb2 as tool
from fluxrpc.v1.protocol_pb2 import PROTOCOL_ANTHROPIC

__all__ = [
    "ANTHROPIC",
    "CONTINUED",
    "DEFAULT_VERSION",
    "DISPLAYS",
    "MAX_INT64",
    "MAX_UINT32",
    "MOVED",
    "NEWER_VERSION",
    "SERVER_CALLS",
    "SERVER_RESULTS",
    "TTL_SECONDS",
    "server_kind",
    "whole",
]

ANTHROPIC = PROTOCOL_ANTHROPIC
DEFAULT_VERSION = "2023-06-01"
NEWER_VERSION = "2026-10-21"
"""Refuses sampling parameters, documents of the assistant and citations of the user
(https://platform.claude.com/docs/en/api/versioning)."""

CONTINUED = "~continued"
"""Key of the extra that says: on the wire this message and the one before were one. Results of tools stand among the
user's blocks there, and have a message of their own in the IR."""

MOVED = "~moved"
"""Key of the extra on thinking whose signature was another provider's, and went to what it signs."""

MAX_UINT32 = 2**32 - 1
MAX_INT64 = 2**63 - 1

TTL_SECONDS: Mapping[str, int] = MappingProxyType({"5m": 300, "1h": 3600})

DISPLAYS: Mapping[str, msg.ReasoningDisplay.ValueType] = MappingProxyType(
    {"summarized": msg.REASONING_DISPLAY_SUMMARY, "omitted": msg.REASONING_DISPLAY_OMITTED}
)

_WEB_SEARCH = tool.SERVER_TOOL_KIND_WEB_SEARCH
_WEB_FETCH = tool.SERVER_TOOL_KIND_WEB_FETCH
_CODE = tool.SERVER_TOOL_KIND_CODE
_TOOL_SEARCH = tool.SERVER_TOOL_KIND_TOOL_SEARCH

SERVER_CALLS: Mapping[str, tool.ServerToolKind.ValueType] = MappingProxyType(
    {
        "web_search": _WEB_SEARCH,
        "web_fetch": _WEB_FETCH,
        "code_execution": _CODE,
        "bash_code_execution": _CODE,
        "text_editor_code_execution": _CODE,
        "tool_search_tool_regex": _TOOL_SEARCH,
        "tool_search_tool_bm25": _TOOL_SEARCH,
    }
)
"""Names in `server_tool_use`."""

SERVER_RESULTS: Mapping[str, tool.ServerToolKind.ValueType] = MappingProxyType(
    {
        "web_search_tool_result": _WEB_SEARCH,
        "web_fetch_tool_result": _WEB_FETCH,
        "code_execution_tool_result": _CODE,
        "bash_code_execution_tool_result": _CODE,
        "text_editor_code_execution_tool_result": _CODE,
        "tool_search_tool_result": _TOOL_SEARCH,
        "mcp_tool_result": tool.SERVER_TOOL_KIND_MCP,
    }
)
"""Types of the blocks that hold what such a call gave."""

_SERVER_TOOL = re.compile(r"(web_search|web_fetch|code_execution|tool_search_tool_(?:regex|bm25))_[0-9]{8}")


def server_kind(tool_type: str) -> tool.ServerToolKind.ValueType | None:
    """Which tool of the provider a `type` with its version names; None: it is no tool that the provider runs.

    Others have names that begin alike (`web_search_preview`); the date at the end is Anthropic's.
    """
    found = _SERVER_TOOL.fullmatch(tool_type)
    return None if found is None else SERVER_CALLS[found.group(1)]


def whole(node: Node, key: str, *, least: int = 0, most: int = MAX_INT64) -> int | None:
    """A whole number within limits.

    Raises:
        JsonFault: another value.
    """
    number = node.integer(key)
    if number is not None and not least <= number <= most:
        raise node.fault(key, f"a whole number from {least} to {most}")
    return number
