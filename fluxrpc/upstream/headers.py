"""Which headers pass, each way: by list, never by copying. Pure.

A gateway that copies headers sends its callers' credentials to providers, and providers' cookies to callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fluxrpc.errors import FieldViolation, InvalidRequest

__all__ = ["inbound", "outbound"]

Pairs = tuple[tuple[str, str], ...]

_IN = frozenset(
    {
        "anthropic-beta",
        "anthropic-version",
        "idempotency-key",
        "openai-beta",
        "openai-organization",
        "openai-project",
        "x-idempotency-key",
    }
)

_OUT = frozenset({"request-id", "retry-after", "retry-after-ms", "x-request-id"})
_OUT_PREFIXES = ("anthropic-ratelimit-", "x-ratelimit-")

_VALUE = re.compile(r"[\t\x20-\x7e]*")
"""RFC 9110, 5.5, without the obsolete bytes beyond ASCII, which no two parties read alike."""


def inbound(headers: Iterable[tuple[str, str]]) -> tuple[Pairs, tuple[str, ...]]:
    """What of a caller's headers goes to the provider, names in lower case; and the names that were dropped.

    Raises:
        InvalidRequest: the value of a header that passes cannot be sent (line breaks, NUL, not ASCII); all at once.
    """
    allowed: list[tuple[str, str]] = []
    dropped: list[str] = []
    violations: list[FieldViolation] = []
    for index, (name, value) in enumerate(headers):
        lower = name.lower()
        if lower not in _IN:
            dropped.append(lower)
        elif _VALUE.fullmatch(value):
            allowed.append((lower, value))
        else:
            violations.append(
                FieldViolation(path=f"native.headers[{index}]", message="the value is not printable ASCII on one line")
            )
    if violations:
        raise InvalidRequest(violations)
    return tuple(allowed), tuple(dropped)


def outbound(headers: Mapping[str, str]) -> Pairs:
    """What of a provider's headers (names in lower case) the caller gets, in a stable order.

    A provider sends dozens of headers that mean nothing to a caller: what is left out is not reported. A value that
    gRPC or a log could stumble over is left out too.
    """
    return tuple(
        (name, headers[name])
        for name in sorted(headers)
        if (name in _OUT or name.startswith(_OUT_PREFIXES)) and _VALUE.fullmatch(headers[name])
    )
