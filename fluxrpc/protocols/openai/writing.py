"""One request body of OpenAI Chat Completions while it is written: for whom, under which gates, and what was renamed.

What the parts of the writer share. Where the caller speaks this protocol himself, nothing is changed but what the gates
of the model demand (`is_own`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from fluxrpc.ir.presence import present
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.dialects import dialect_named
from fluxrpc.protocols.node import SPELLING, merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.openai.words import OPENAI
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.protocol_pb2 import Extra

__all__ = ["Writing", "own_keys"]

_LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_SAME_WORDS = frozenset({None, Protocol.OPENAI, Protocol.RESPONSES})
MAX_BREAKPOINTS = 4
"""More are refused; the last ones reach furthest."""


class Writing:
    """See the module."""

    def __init__(self, request: MessageRequest, context: Context, notes: Notes) -> None:
        self.request = request
        self.context = context
        self.notes = notes
        self.gates = context.target.gates
        self.dialect = dialect_named(context.target.dialect)
        self.is_own = context.caller is Protocol.OPENAI
        self.shares_words = context.caller in _SAME_WORDS
        """Words and ids of files that the caller says are those of this provider."""
        self.said = present(request)
        """Names of the fields of the request that say something."""
        self.spelt = own_keys(request.extras) if "extras" in self.said else frozenset()
        self.refused: set[str] = set()
        """Fields of the request that the gates refuse, once the effort of reasoning is settled."""
        self.gone: set[str] = set()
        """Fields of the body that must not come back from the extras."""
        self.asks_for_json = False
        """The conversation must hold the word."""
        self._names = ToolNames(context, notes, _LEGAL_NAME, _ILLEGAL_CHARACTER)
        self._breakpoints: frozenset[str] | None = None

    def tool_name(self, name: str, path: str) -> str:
        """The name of a tool as it is written."""
        return name if self.is_own else self._names.written(name, path)

    def is_spelt(self, key: str) -> bool:
        """Whether a field of the body only spelt what the IR says otherwise."""
        return any(extra.key == SPELLING + key for extra in self.request.extras if extra.protocol == OPENAI)

    def merge(self, fields: dict[str, Any], extras: Sequence[Extra], path: str) -> None:
        """Give a node its extras of this protocol back, and note the others."""
        if not extras:
            return
        merge_extras(fields, extras, OPENAI)
        self.notes.foreign_extras(extras, OPENAI, path)

    def keeps_breakpoint(self, path: str) -> bool:
        """Whether the breakpoint of a part is written; noted where it is not."""
        if self._breakpoints is None:
            self._breakpoints = self._kept_breakpoints()
        if path in self._breakpoints:
            return True
        self.notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
        return False

    def _kept_breakpoints(self) -> frozenset[str]:
        if not self.dialect.is_original or "cache_breakpoint" in self.gates.refused:
            return frozenset()
        marked = [
            f"messages[{at}].parts[{index}]"
            for at, message in enumerate(self.request.messages)
            for index, part in enumerate(message.parts)
            if part.HasField("cache_breakpoint") and part.WhichOneof("kind") in _BREAKABLE
        ]
        return frozenset(marked if self.is_own else marked[-MAX_BREAKPOINTS:])


_BREAKABLE = frozenset({"text", "image", "audio", "document"})


def own_keys(extras: Iterable[Extra]) -> frozenset[str]:
    """The fields of a node that its extras of this protocol say."""
    return frozenset(extra.key.removeprefix(SPELLING).partition(".")[0] for extra in extras if extra.protocol == OPENAI)
