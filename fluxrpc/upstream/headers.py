"""Which headers of a caller reach a provider: by list, never by copying. Pure.

A gateway that copies headers sends its callers' credentials to providers. The other way: `protocols.headers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fluxrpc.errors import FieldViolation, InvalidRequest
from fluxrpc.protocols.base import Protocol

__all__ = ["inbound", "towards"]

Pairs = tuple[tuple[str, str], ...]

_ANTHROPIC = frozenset({Protocol.ANTHROPIC})
_OPENAI = frozenset({Protocol.OPENAI, Protocol.RESPONSES})
_ALL = frozenset(Protocol)
_IN: Mapping[str, frozenset[Protocol]] = {
    "anthropic-beta": _ANTHROPIC,
    "anthropic-version": _ANTHROPIC,
    "idempotency-key": _ALL,
    "openai-beta": _OPENAI,
    "openai-organization": _OPENAI,
    "openai-project": _OPENAI,
    "x-client-request-id": _ALL,
}
"""The list, and which protocols know what a header says."""

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


def towards(headers: Pairs, target: Protocol) -> tuple[Pairs, tuple[str, ...]]:
    """What of a caller's headers means something in another protocol than its own; and the names that do not."""
    kept = tuple((name, value) for name, value in headers if target in _IN.get(name, _ALL))
    return kept, tuple(name for name, _value in headers if target not in _IN.get(name, _ALL))
