"""Errors of Anthropic Messages: its own words, and how it writes an error."""

from __future__ import annotations

import re

import msgspec

from fluxrpc.errors import NativeErrorBody, ProviderError
from fluxrpc.protocols.base import ErrorView, Protocol
from fluxrpc.protocols.classify import LIMITED, QUOTA, REFUSED, Row, words
from fluxrpc.protocols.provider_error import read_error_in_answer

ROWS: tuple[Row, ...] = (
    # https://platform.claude.com/docs/en/api/errors: a cap on spending is no rate limit, though it shares the 429.
    Row(verdict=QUOTA, words=words("enforced_spend_limit_reached")),
    Row(
        verdict=QUOTA,
        statuses=frozenset({400, 429}),
        message=re.compile(r"specified (?:API )?usage limits|spend(?:ing)? limit", re.IGNORECASE),
    ),
    Row(
        verdict=REFUSED,
        statuses=frozenset({400}),
        message=re.compile(r"blocked by (?:our )?content filtering policy", re.IGNORECASE),
    ),
    Row(verdict=LIMITED, statuses=frozenset({429}), words=words("ramp_limit_exceeded")),
)

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_of(text: bytes) -> ProviderError:
    """The error inside a 2xx."""
    return read_error_in_answer(Protocol.ANTHROPIC, ROWS, text)


def write_error(status: int, message: str, code: str) -> bytes:
    """`{"type": "error", "error": {"type", "message", "details"?}}`."""
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    error: dict[str, object] = {"type": kind, "message": message}
    if code:
        error["details"] = {"error_code": code}
    return msgspec.json.encode({"type": "error", "error": error})


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one."""
    raise NotImplementedError
