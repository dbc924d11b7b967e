"""What a translation knows beside the text: to whom a request is written, and what its answer needs of it.

Invariant: a `Target` never changes and is shared; a `Context` belongs to one request on its way to one target, is
filled while that is written, and is read while the answer comes back.
"""

from __future__ import annotations

from msgspec import Struct, field

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import Gates
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.tool_pb2 import FunctionTool

__all__ = ["Context", "Target"]


class Target(Struct, frozen=True, kw_only=True):
    """The model that a request is written to."""

    protocol: Protocol
    model: str
    gates: Gates = field(default_factory=Gates)
    version: str = ""
    """anthropic: the `anthropic-version` that is sent; "" = the default."""
    dialect: str = ""
    """openai: which copy of it the service speaks (`deepseek`, `vllm`, `openrouter`, `azure`, `google`, …)."""
    service: str = ""
    """Name of the service: the origin of the opaque state that it hands out."""
    force_usage: bool = True
    """openai: ask for the usage frame of streams."""


class Context(Struct, kw_only=True):
    """One request on its way to one target, and its answer on the way back."""

    caller: Protocol | None
    """What the caller speaks; None for typed callers."""
    target: Target
    request: MessageRequest
    """What was asked; writers of answers that echo settings read it."""
    stream: bool = False
    show_usage: bool = True
    """openai callers see the usage of a stream only if they asked for it."""
    caller_version: str = ""
    """anthropic: the version that the caller speaks."""
    now: int = 0
    """Unix seconds: the time of answers whose provider tells none."""

    # --- filled by the request's writer, undone in the answer (`fluxrpc.protocols.undo`) ---
    tool_names: dict[str, str] = {}
    """Names of tools as they were written, to the caller's."""
    custom_tools: set[str] = set()
    """The caller's names of custom tools that were written as functions with one property `input`."""
    narrowed_tools: dict[str, FunctionTool] = {}
    """The functions, by the caller's names, whose schemas were narrowed so that their arguments have to be restored."""
    stops: tuple[str, ...] = ()
    """Stop sequences that the provider cannot take: the answer is cut at the first that it meets."""
    single_call: bool = False
    """Calls after the first are left out."""
    unwrap_key: str = ""
    """The answer is a JSON object with this one key, whose string is what the caller wants (an enum)."""
