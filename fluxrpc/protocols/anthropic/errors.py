"""Errors of Anthropic Messages: its own words, and how it writes an error."""

from __future__ import annotations

import math
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
    error: dict[str, object] = {"type": _type_of(status), "message": message}
    if code:
        error["details"] = {"error_code": code}
    return msgspec.json.encode({"type": "error", "error": error})


_BY_DETAIL = {
    "RATE_LIMITED": 429,
    "QUOTA_SPENT": 402,  # as a 429 it would be tried again for nothing
    "CREDENTIAL_REJECTED": 401,
    "FORBIDDEN": 403,
    "MODEL_NOT_FOUND": 404,
    "PROVIDER_OVERLOADED": 529,
    "CONTEXT_LENGTH_EXCEEDED": 400,
    "CONTENT_REFUSED": 400,
}
_KEPT = frozenset({400, 404, 409, 413})
"""The 4xx that this protocol has, for errors that the verdict's word says no more of."""


_TOO_LONG = "prompt is too long"
"""How clients tell this error from others, for it has no code."""


def _message(error: ErrorView) -> str:
    if error.detail != "CONTEXT_LENGTH_EXCEEDED" or _TOO_LONG in error.message.lower():
        return error.message
    return f"{_TOO_LONG}: {error.message}"


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one."""
    status = _BY_DETAIL.get(error.detail) or _own_status(error.http_status)
    body: dict[str, object] = {"type": "error", "error": {"type": _type_of(status), "message": _message(error)}}
    headers = []
    if error.request_id:
        body["request_id"] = error.request_id
        headers.append(("request-id", error.request_id))
    if error.retry_after_seconds is not None:
        headers.append(("retry-after", str(math.ceil(error.retry_after_seconds))))
    return NativeErrorBody(
        protocol=Protocol.ANTHROPIC, http_status=status, headers=tuple(headers), body=msgspec.json.encode(body)
    )


def _own_status(status: int) -> int:
    if status in _KEPT or status >= 500:
        return status
    return 400 if status >= 400 else 500


def _type_of(status: int) -> str:
    return _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
