"""Names of tools and ids of calls that another protocol accepts, and the way back.

Invariant: the same request gives the same names and ids every time (prompt caches depend on it), no two tools get the
same name, and a name that is legal already stays.
"""

from __future__ import annotations

import re

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes

__all__ = ["ToolNames", "made_up_call_id", "written_call_id"]


class ToolNames:
    """The names of one request for one target. Renamed ones are entered in `context.tool_names` and noted once."""

    def __init__(self, context: Context, notes: Notes, legal: re.Pattern[str], illegal: re.Pattern[str]) -> None:
        """`legal` matches a whole name that may stay; `illegal` each character that becomes `_`."""
        raise NotImplementedError

    def written(self, name: str, path: str) -> str:
        """The name to write for a tool of the caller's, in its definition, in history and in the choice alike."""
        raise NotImplementedError


def made_up_call_id(message: int, call: int) -> str:
    """The id of a call that came without one: `call_gw_1_0` for the first call of message 1."""
    return f"call_gw_{message}_{call}"


def written_call_id(call_id: str, legal: re.Pattern[str], max_length: int = 64) -> str:
    """The id itself where it is legal, else one derived from it: readable characters kept, a digest behind."""
    raise NotImplementedError
