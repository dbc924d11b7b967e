"""Names of tools and ids of calls that another protocol accepts, and the way back.

Invariant: the same request gives the same names and ids every time (prompt caches depend on it), no two tools get the
same name, and a name that is legal already stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import MessageRequest

__all__ = ["ToolNames", "made_up_call_id", "written_call_id"]

_MAX_NAME_LENGTH = 128
"""No provider takes longer names."""
_DIGEST_LENGTH = 12
_UNREADABLE = re.compile(r"[^A-Za-z0-9_]")


class ToolNames:
    """The names of one request for one target. Renamed ones are entered in `context.tool_names` and noted once."""

    __slots__ = ("_context", "_illegal", "_legal", "_names", "_notes", "_taken")

    def __init__(self, context: Context, notes: Notes, legal: re.Pattern[str], illegal: re.Pattern[str]) -> None:
        """`legal` matches a whole name that may stay; `illegal` each character that becomes `_`.

        `legal` must accept `_` and the digits of a hexadecimal number behind it.
        """
        self._context = context
        self._notes = notes
        self._legal = legal
        self._illegal = illegal
        self._names: dict[str, str] = {}
        self._taken: set[str] | None = None

    def written(self, name: str, path: str) -> str:
        """The name to write for a tool of the caller's, in its definition, in history and in the choice alike.

        `path` is where the name is met, for the note; only the first one is named.
        """
        if self._legal.fullmatch(name):
            return name
        written = self._rename(name)
        if self._context.tool_names.get(written) != name:
            self._context.tool_names[written] = name
            self._notes.renamed("TOOL_NAME", path)
        return written

    def _rename(self, name: str) -> str:
        if self._taken is None:
            # The definitions come first, so that what stands in history does not change their names.
            defined = list(dict.fromkeys(_names_of(self._context.request)))
            self._taken = {each for each in defined if self._legal.fullmatch(each)}
            for each in defined:
                if each not in self._taken:
                    self._assign(each, self._taken)
        return self._names[name] if name in self._names else self._assign(name, self._taken)

    def _assign(self, name: str, taken: set[str]) -> str:
        written = next(each for each in self._candidates(name) if self._legal.fullmatch(each) and each not in taken)
        taken.add(written)
        self._names[name] = written
        return written

    def _candidates(self, name: str) -> Iterator[str]:
        """The nearest first. A digest keeps apart what was cut or would fall together."""
        clean = self._illegal.sub("_", name[: _MAX_NAME_LENGTH + 1])
        yield clean
        if not self._legal.fullmatch(clean):
            yield f"_{clean}"  # where the first character may not be a digit
        digest = _digest(name)
        shorter = [f"{clean[:length]}_{digest}" for length in range(_MAX_NAME_LENGTH, -1, -1)]
        yield from [f"{mark}{each}" for each in shorter for mark in ("", "_")]


def made_up_call_id(message: int, call: int) -> str:
    """The id of a call that came without one: `call_gw_1_0` for the first call of message 1."""
    return f"call_gw_{message}_{call}"


def written_call_id(call_id: str, legal: re.Pattern[str], max_length: int = 64) -> str:
    """The id itself where it is legal, else one derived from it: readable characters kept, a digest behind.

    Where even that is not legal (ids of nine letters and digits), the digest alone.
    """
    if len(call_id) <= max_length and legal.fullmatch(call_id):
        return call_id
    digest = _digest(call_id)
    head = _UNREADABLE.sub("_", call_id[: max(0, max_length - len(digest) - 1)])
    readable = f"{head}_{digest}"
    return readable if len(readable) <= max_length and legal.fullmatch(readable) else digest[:max_length]


def _names_of(request: MessageRequest) -> Iterator[str]:
    """Names in definitions, then in the choice, then in history."""
    for tool in request.tools:
        yield tool.function.name or tool.custom.name or tool.server.name or tool.provider.name
    yield from request.tool_choice.names
    for message in request.messages:
        for part in message.parts:
            if part.HasField("tool_call"):
                yield part.tool_call.name


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
