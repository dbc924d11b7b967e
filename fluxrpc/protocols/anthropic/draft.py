"""One request body on its way to Anthropic Messages: what its writers share while they fill it.

Not a writer. `exact` says that the caller speaks this protocol too: then only what the model refuses is changed.
"""

from __future__ import annotations

import re
from typing import Any

from google.protobuf.duration_pb2 import Duration
from msgspec import Struct, field

from fluxrpc.ir.presence import present
from fluxrpc.protocols.anthropic.words import ANTHROPIC, NEWER_VERSION, TTL_SECONDS
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.tool_names import ToolNames, written_call_id
from fluxrpc.v1.message_pb2 import MessageRequest, Tool
from fluxrpc.v1.part_pb2 import Part

__all__ = ["Block", "Draft", "cache_control"]

Block = dict[str, Any]

_LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_LEGAL_ID = re.compile(r"[A-Za-z0-9_-]+")
_MAX_BREAKPOINTS = 4


class Draft(Struct, kw_only=True):
    """See the module."""

    context: Context
    notes: Notes
    exact: bool
    names: ToolNames
    said: set[str]
    """Names of the fields of the request that say something."""
    body: Block = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    """What is to be said among the instructions, because no field says it."""
    limits_tools: bool = False
    """The limit of calls of the provider's tools is said."""
    breakpoints: list[tuple[Block, str]] = field(default_factory=list)
    """Blocks with a breakpoint of the cache and their paths in the IR, in the order of the prompt."""

    @classmethod
    def of(cls, context: Context, notes: Notes) -> Draft:
        """An empty one."""
        return cls(
            context=context,
            notes=notes,
            exact=context.caller is Protocol.ANTHROPIC,
            names=ToolNames(context, notes, _LEGAL_NAME, _ILLEGAL),
            said=present(context.request),
        )

    @property
    def request(self) -> MessageRequest:
        """What was asked."""
        return self.context.request

    @property
    def gates(self) -> Gates:
        """What the model refuses."""
        return self.context.target.gates

    @property
    def is_newer(self) -> bool:
        """Whether the body is of the newer version of the API."""
        return self.context.target.version == NEWER_VERSION

    @property
    def is_at_home(self) -> bool:
        """Whether what only an Anthropic account or API knows (file ids, versions of tools) may be meant for it."""
        return self.context.caller in (None, Protocol.ANTHROPIC)

    def name(self, name: str, path: str) -> str:
        """The name of a tool as it is written."""
        return name if self.exact else self.names.written(name, path)

    def call_id(self, call_id: str) -> str:
        """The id of a call as it is written."""
        return call_id if self.exact else written_call_id(call_id, _LEGAL_ID)

    def finish_block(self, block: Block, owner: Part | Tool, path: str) -> None:
        """What blocks and tools have in common: the breakpoint and the extras."""
        if owner.HasField("cache_breakpoint"):
            ttl = owner.cache_breakpoint.ttl if owner.cache_breakpoint.HasField("ttl") else None
            block["cache_control"] = cache_control(ttl, self.notes, f"{path}.cache_breakpoint")
            self.breakpoints.append((block, path))
        if owner.extras:
            merge_extras(block, owner.extras, ANTHROPIC)
            self.notes.foreign_extras(owner.extras, ANTHROPIC, path)

    def limit_breakpoints(self) -> None:
        """Only the last four are taken: they cover what stands before them."""
        room = _MAX_BREAKPOINTS - ("cache_control" in self.body)
        if self.exact or len(self.breakpoints) <= room:
            return
        for block, path in self.breakpoints[:-room]:
            del block["cache_control"]
            self.notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")


def cache_control(ttl: Duration | None, notes: Notes, path: str, code: str = "CACHE_BREAKPOINT") -> Block:
    """A breakpoint with the nearest time to live."""
    control: Block = {"type": "ephemeral"}
    if ttl is not None:
        word = "5m" if ttl.seconds <= TTL_SECONDS["5m"] else "1h"
        control["ttl"] = word
        if ttl.seconds != TTL_SECONDS[word] or ttl.nanos:
            notes.approximated(code, f"{path}.ttl")
    return control
