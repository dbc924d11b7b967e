"""Log lines on standard error: structlog's for us, the standard library's through the same renderer.

One access line for each call, with names and numbers only: no prompt, no answer, no header. Redaction is the second
line of defence (the first: secrets are `Secret`s and are not logged): fields whose name says secret are hidden, and so
is every known secret wherever it stands in a text, tracebacks included.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from datetime import UTC, datetime
from functools import lru_cache
from types import NoneType
from typing import Any, TextIO

import msgspec
import structlog

from fluxrpc.errors import CODE_NAMES, HIDDEN, MIN_SECRET_LENGTH, GrpcCode
from fluxrpc.telemetry import semconv

__all__ = ["AccessLog", "AccessRecord", "Redaction", "configure_logs"]

# Token counts have "tokens" in their names, secrets have "token": only whole words count.
_SECRET_WORDS = re.compile(
    r"(^|[_\-.])(authorization|api[_-]?key|token|secret|password|passwd|credential|cookie|private[_-]?key)($|[_\-.])",
    re.IGNORECASE,
)
_MAX_DEPTH = 6
MAX_MODEL_LENGTH = 200

Event = MutableMapping[str, Any]


@lru_cache(maxsize=4096)
def _is_secret(key: str) -> bool:
    return _SECRET_WORDS.search(key) is not None


class Redaction:
    """A structlog processor that hides secrets. `know` replaces the values that it looks for."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._pattern: re.Pattern[str] | None = None
        self.know(secrets)

    def know(self, secrets: Iterable[str]) -> None:
        """From now on these are the secrets (a reload brings new ones)."""
        # The longest first, so that no secret is left half hidden by one that it begins with.
        values = sorted({s for s in secrets if len(s) >= MIN_SECRET_LENGTH}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, values))) if values else None

    def __call__(self, _logger: object, _name: str, event: Event) -> Event:
        """The event with its secrets hidden."""
        for key, value in event.items():
            event[key] = HIDDEN if _is_secret(key) else self._clean(value, _MAX_DEPTH)
        return event

    def text(self, value: str) -> str:
        """The text with every known secret hidden."""
        return value if self._pattern is None else self._pattern.sub(HIDDEN, value)

    def _clean(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool | int | float | NoneType):
            return value
        if depth == 0:
            return HIDDEN
        if isinstance(value, dict):
            return {
                str(key): HIDDEN if _is_secret(str(key)) else self._clean(inner, depth - 1)
                for key, inner in value.items()
            }
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean(inner, depth - 1) for inner in value]
        return self._clean(repr(value), depth - 1)


def configure_logs(*, level: str, json: bool, redaction: Redaction, stream: TextIO | None = None) -> AccessLog:
    """Make all log lines of the process go to `stream` (default: standard error). Gives the writer of access lines.

    Args:
        level: `debug`, `info`, `warning` or `error`.
        json: one JSON object a line; else coloured text for people where `stream` is a terminal.
        redaction: what hides secrets; kept, so that a reload can tell it new ones.
        stream: where to.
    """
    out = sys.stderr if stream is None else stream
    number = logging.getLevelNamesMapping()[level.upper()]
    stamp: Any = _stamp if json else structlog.processors.TimeStamper(fmt="iso", utc=True)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.format_exc_info,
        redaction,
        structlog.processors.add_log_level,
        stamp,
    ]
    render: Any = _render_json if json else structlog.dev.ConsoleRenderer(colors=out.isatty())
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    foreign = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.add_logger_name, structlog.stdlib.ExtraAdder()],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *shared, render],
    )
    handler = _ForeignHandler(out)
    handler.setFormatter(foreign)
    root = logging.getLogger()
    root.handlers = [other for other in root.handlers if not isinstance(other, _ForeignHandler)] + [handler]
    # Other libraries' debug lines are for their authors, and hold headers.
    root.setLevel(max(number, logging.INFO))
    return AccessLog(stamp, render, LineBatch(out), redaction=redaction, threshold=number)


class _ForeignHandler(logging.StreamHandler[TextIO]):
    """Lines of other libraries; a type of its own, so that configuring again replaces ours only."""


def _stamp(_logger: object, _name: str, event: Event) -> Event:
    # The JSON encoder writes datetimes as RFC 3339, at a third of the cost of structlog's own stamp.
    event["timestamp"] = datetime.now(UTC)
    return event


_JSON = msgspec.json.Encoder(enc_hook=repr)


def _render_json(_logger: object, _name: str, event: Event) -> str:
    return _JSON.encode(event).decode()


class AccessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the access line says of one call."""

    request_id: str
    method: str
    code: GrpcCode
    reason: str
    duration_seconds: float
    caller: str = ""
    model: str = ""
    route: str = ""
    """The one that answered."""
    attempts: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    tags: Mapping[str, str] | None = None
    """The caller's own labels."""


class AccessLog:
    """Writes one line for each call.

    Its fields are fixed, so only the model's name, the caller's own text, needs a search for secrets, and a line goes
    straight through structlog's last two processors: a bound logger around them would cost as much as the line.
    """

    def __init__(
        self,
        stamp: Callable[..., Event],
        render: Callable[..., str],
        lines: LineBatch,
        *,
        redaction: Redaction,
        threshold: int,
    ) -> None:
        """`stamp` and `render` are structlog processors; below `threshold` (a `logging` level) nothing is written."""
        self._stamp = stamp
        self._render = render
        self._lines = lines
        self._redaction = redaction
        self._info = threshold <= logging.INFO
        self._error = threshold <= logging.ERROR

    def write(self, record: AccessRecord) -> None:
        """One line: calls that failed for a bug of ours at `error`, all others at `info`."""
        is_error = record.code is GrpcCode.INTERNAL
        if not (self._error if is_error else self._info):
            return
        level = "error" if is_error else "info"
        fields: Event = {
            "event": "call",
            "level": level,
            semconv.REQUEST_ID: record.request_id,
            semconv.METHOD: record.method,
            semconv.CALLER: record.caller,
            semconv.MODEL: self._redaction.text(record.model[:MAX_MODEL_LENGTH]),
            semconv.ROUTE: record.route,
            semconv.CODE: CODE_NAMES[record.code],
            semconv.REASON: record.reason,
            semconv.DURATION: round(record.duration_seconds, 6),
            semconv.ATTEMPT_COUNT: record.attempts,
        }
        if record.input_tokens is not None:
            fields[semconv.INPUT_TOKENS] = record.input_tokens
        if record.output_tokens is not None:
            fields[semconv.OUTPUT_TOKENS] = record.output_tokens
        if record.tags:
            fields[semconv.TAGS] = {key: self._redaction.text(value) for key, value in record.tags.items()}
        self._lines.add(self._render(None, level, self._stamp(None, level, fields)))

    def flush(self) -> None:
        """Write what waits: at the end of the process."""
        self._lines.flush()


class LineBatch:
    """Lines of one moment are written together, with one system call."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lines: list[str] = []

    def add(self, line: str) -> None:
        """One more. It is written when the loop comes round; outside of an event loop at once."""
        self._lines.append(line)
        if len(self._lines) == 1:
            try:
                asyncio.get_running_loop().call_soon(self.flush)
            except RuntimeError:
                self.flush()

    def flush(self) -> None:
        """Write what is there."""
        lines, self._lines = self._lines, []
        if lines:
            self._out.write("\n".join(lines) + "\n")
            self._out.flush()
