"""Errors of Gemini: google.rpc statuses, with what is meant in `details`; and how it writes an error."""

from __future__ import annotations

import re

import msgspec

from fluxrpc.errors import NativeErrorBody, ProviderError
from fluxrpc.protocols.base import ErrorView, Protocol
from fluxrpc.protocols.classify import BROKEN, CALLER, KEY, LIMITED, OVERLOADED, QUOTA, Row, words
from fluxrpc.protocols.provider_error import PER_DAY_WORD, read_error_in_answer

ROWS: tuple[Row, ...] = (
    # google.rpc.ErrorInfo reasons of a key that is not, or not here, or not now accepted. A bad key is a 400.
    Row(
        verdict=KEY,
        words=words(
            "api_key_invalid api_key_service_blocked api_key_http_referrer_blocked "
            "api_key_ip_address_blocked api_key_android_app_blocked api_key_ios_app_blocked "
            "consumer_invalid consumer_suspended service_disabled access_token_expired "
            "access_token_scope_insufficient credentials_missing"
        ),
    ),
    Row(verdict=QUOTA, words=frozenset({"billing_disabled"})),
    Row(verdict=OVERLOADED, words=frozenset({"unavailable"})),
    # Both limits are worded like a spent quota; only the violated quota's name tells a day from a minute.
    Row(verdict=QUOTA, statuses=frozenset({429}), words=frozenset({PER_DAY_WORD})),
    Row(verdict=LIMITED, statuses=frozenset({429}), words=words("resource_exhausted")),
    Row(
        verdict=QUOTA,
        statuses=frozenset({400}),
        words=words("failed_precondition"),
        message=re.compile(r"billing|free tier", re.IGNORECASE),
    ),
    Row(verdict=CALLER, statuses=frozenset({499}), words=frozenset({"cancelled"})),
    Row(verdict=BROKEN, statuses=frozenset({501}), words=frozenset({"unimplemented"})),
)

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error_of(text: bytes) -> ProviderError:
    """The error inside a 2xx."""
    return read_error_in_answer(Protocol.GEMINI, ROWS, text)


def write_error(status: int, message: str, code: str) -> bytes:
    """`{"error": {"code", "message", "status", "details"?}}`."""
    word = _STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
    error: dict[str, object] = {"code": status, "message": message, "status": word}
    if code:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        error["details"] = [{"@type": kind, "reason": code, "domain": "fluxrpc"}]
    return msgspec.json.encode({"error": error})


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one."""
    status = _status_of(error)
    body: dict[str, object] = {"code": status, "message": error.message, "status": _STATUSES[status]}
    details: list[dict[str, object]] = []
    if error.retry_after_seconds is not None:
        details.append({"@type": f"{_TYPES}RetryInfo", "retryDelay": _duration(error.retry_after_seconds)})
    if error.param:
        violation = {"field": error.param, "description": error.message}
        details.append({"@type": f"{_TYPES}BadRequest", "fieldViolations": [violation]})
    if details:
        body["details"] = details
    return NativeErrorBody(
        protocol=Protocol.GEMINI.value, http_status=status, body=msgspec.json.encode({"error": body})
    )


_TYPES = "type.googleapis.com/google.rpc."
_OTHER_STATUSES = {402: 429, 408: 504, 529: 503}
"""Statuses of others whose meaning has another number here."""
_BY_DETAIL = {"QUOTA_SPENT": 429, "RATE_LIMITED": 429, "PROVIDER_OVERLOADED": 503}


def _status_of(error: ErrorView) -> int:
    status = _OTHER_STATUSES.get(error.http_status, error.http_status)
    status = _BY_DETAIL.get(error.detail, status)
    if status in _STATUSES:
        return status
    return 400 if 400 <= status < 500 else 500


def _duration(seconds: float) -> str:
    """A google.protobuf.Duration in JSON."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"
