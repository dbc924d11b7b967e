"""How long a provider asks us to wait, in all the forms that providers use. Seconds, never negative.

Sources: RFC 9110 section 10.2.3 (`retry-after`), the OpenAI SDK (`retry-after-ms`, `x-ratelimit-reset-*` as
durations such as `6m0s`), Anthropic (`anthropic-ratelimit-*-reset` as RFC 3339 times), google.rpc.RetryInfo.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from fluxrpc.protocols.base import Headers

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)")
_UNIT_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0
}  # fmt: skip
_RESET_NAME = re.compile(r"(?:x-ratelimit-reset(-.+)?|anthropic-ratelimit-(.+)-reset|ratelimit-reset)")
# A plain number above these is no span but a Unix time, in seconds or milliseconds.
_UNIX_SECONDS = 1e9
_UNIX_MILLISECONDS = 1e12


def read_hint(headers: Headers, *, now: float, is_limit: bool, body_delay: str = "") -> float | None:
    """The seconds to wait, or None without a hint.

    The most exact form wins: milliseconds, then `retry-after`, then the delay in the body, then, for rate limits
    only, the reset of the limits that are used up, or of limits that do not say how much is left. `now` is Unix time;
    a `date` header replaces it, so that a clock that differs from the provider's does no harm.
    """
    now = _date(headers.get("date", ""), fallback=now)
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    hint = _span(headers.get("retry-after", ""), now)
    if hint is None and body_delay:
        hint = _span(body_delay, now)
    if hint is None and is_limit:
        hint = _reset(headers, now)
    return hint


def _reset(headers: Headers, now: float) -> float | None:
    spent: list[float] = []
    unknown: list[float] = []
    for name, value in headers.items():
        if _RESET_NAME.fullmatch(name) and (seconds := _span(value, now)) is not None:
            remaining = _number(headers.get(name.replace("reset", "remaining"), ""))
            if remaining == 0:
                spent.append(seconds)
            elif remaining is None:
                unknown.append(seconds)
            # A limit with something left is not the one that was met; its reset, milliseconds often, says nothing.
    return max(spent or unknown, default=None)


def _span(text: str, now: float) -> float | None:
    text = text.strip()
    number = _number(text)
    if number is not None:
        if number >= _UNIX_MILLISECONDS:
            number /= 1000
        return max(0.0, number - now) if number >= _UNIX_SECONDS else number
    parts = _DURATION.findall(text)
    if parts and "".join(amount + unit for amount, unit in parts) == text:
        return sum(float(amount) * _UNIT_SECONDS[unit] for amount, unit in parts)
    time = _date(text, fallback=math.nan)
    return None if math.isnan(time) else max(0.0, time - now)


def _number(text: str) -> float | None:
    """A plain finite number that is not negative."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _date(text: str, *, fallback: float) -> float:
    """Unix seconds of an HTTP date or an RFC 3339 time."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp()
    return fallback
