"""What a test tells the simulator to do: `Ok` (an answer) and `Fault` (a way of failing), in provider-neutral words.

Plain values without behaviour: how they look on the wire is decided by the dialects and `faults`.
Invariant: the same values and the same request give the same bytes but for ids, times and dates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Literal

Finish = Literal["stop", "length", "stop_sequence", "tool_calls", "refusal", "content_filter"]
CutHow = Literal["close", "reset", "chunk", "end"]
FaultKind = Literal[
    # the provider says no, in its own words
    "status", "rate_limit", "quota", "bad_key", "forbidden", "model_not_found", "bad_request", "too_large",
    "unprocessable", "context_length", "content_filter", "server_error", "overloaded", "timeout", "conflict",
    # the connection or the body before any event
    "reset", "close", "silence", "headers_then_silence", "error_in_200", "empty", "html", "truncated_json",
    "json_for_stream", "redirect", "huge_body", "huge_headers", "raw_body",
    # inside a stream
    "cut", "stall", "malformed", "no_terminator", "error_event", "duplicate_terminator", "events_after_end",
    "no_usage", "unknown_event", "bare_error", "failed_response",
    # only where the last turn is the assistant's
    "prefill_rejected",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the answer makes. `arguments` is JSON text, sent as it is where the protocol carries text."""

    name: str
    arguments: str = "{}"
    id: str | None = None
    fragments: tuple[str, ...] = ()
    """How the arguments are cut in a stream; empty: in pieces of eight characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counters, neutral: `input` includes cached and written, `output` includes reasoning."""

    input: int
    output: int
    reasoning: int = 0
    cached: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When things are sent. The opening frames of a stream leave at once after the headers."""

    before_headers_seconds: float = 0.0
    before_first_event_seconds: float = 0.0
    between_events_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the same events look as bytes."""

    split_bytes: tuple[int, ...] = ()
    """Sizes of the pieces, used in turn, each its own write and HTTP chunk; empty: one piece for each event."""
    newline: Literal["\n", "\r\n", "\r"] = "\n"
    bom: bool = False
    multiline: bool = False
    """The JSON of an event spread over several `data:` lines."""
    comments: int = 0
    """SSE comments sent before the first content event, after the opening frames."""
    pings: int = 0
    """Protocol pings before the first content event (anthropic); comments in the other protocols."""
    ping_seconds: float = 0.0
    """Wait before each comment or ping."""
    encoding: Literal["", "gzip", "deflate"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ok:
    """A healthy answer. Everything left out is derived from the request, deterministically."""

    text: str | None = None
    """None: derived from the prompt, going on from a last turn of the assistant that begins it.

    A given text is said verbatim, whatever limits the request sets.
    """
    echo: bool = False
    """Say the last user text."""
    fragments: tuple[str, ...] | None = None
    """How the text is cut in a stream (wins over `text`); None: one fragment for each word."""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] | int = ()
    """Calls to make; a number: so many calls of the tools that the request offers, none where it offers none."""
    refusal: str = ""
    finish: Finish | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None
    cached_tokens: int = 0
    served_model: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pace: Pace = field(default_factory=Pace)
    shape: Shape = field(default_factory=Shape)


@dataclass(frozen=True, slots=True)
class Fault:
    """A way of failing; `kind` says which of the other fields count.

    `after_events` counts content events: text, reasoning, refusal, the start of a call or a piece of its arguments.
    The opening frames of the protocol are sent before the first one and are not counted; -1 is before even those.
    """

    kind: FaultKind
    _: KW_ONLY
    status: int | None = None
    """HTTP status; None: the usual one of the kind in the protocol."""
    message: str | None = None
    code: str | None = None
    """The protocol's code or type word, where it has one; None: the usual one."""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """For kinds that replace the answer; where an answer begins, its own `headers` count."""
    delay_seconds: float = 0.0
    """Wait before anything is sent."""
    retry_after_seconds: float | None = None
    retry_after_date_seconds: float | None = None
    """The same as an HTTP date so far ahead."""
    retry_after_ms: int | None = None
    ratelimit_reset_seconds: float | None = None
    """openai, responses: duration in `x-ratelimit-reset-requests`; anthropic: RFC 3339 time."""
    retry_info_seconds: float | None = None
    """gemini: `RetryInfo.retryDelay` in the error body."""
    on: Literal["any", "first", "reused"] = "any"
    """reset, close: only on the first request of a connection, or only on later ones; else the answer is given."""
    after_events: int = 0
    how: CutHow = "close"
    """cut: FIN, RST, FIN inside an HTTP chunk, or a clean end of the body. no_terminator: `end`, else stays open."""
    seconds: float | None = None
    """silence, headers_then_silence, stall: the answer goes on after so long; None: never."""
    n_bytes: int = 1 << 20
    """huge_body, huge_headers."""
    location: str = "http://127.0.0.1:9/elsewhere"
    data: str | None = None
    """malformed, unknown_event: the `data` text; raw_body: the body. U+DC80 to U+DCFF stand for single raw bytes."""
    content_type: str = "application/json"
    """raw_body."""
    problem: FaultKind = "overloaded"
    """error_in_200, error_event, bare_error, failed_response: which error is told."""
    answer: Ok = field(default_factory=Ok)
    """What is being answered when the fault strikes."""


Act = Ok | Fault


class Script:
    """The acts of one model: one for each request, the last one for ever."""

    def __init__(self, acts: Act | list[Act] | tuple[Act, ...]) -> None:
        self._acts = [acts] if isinstance(acts, Ok | Fault) else list(acts)
        if not self._acts:
            raise ValueError("a script needs at least one act")

    def take(self) -> Act:
        """The act for the next request."""
        return self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]
