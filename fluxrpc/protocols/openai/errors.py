"""Errors of OpenAI Chat Completions: the words that only it (and its copies) use, and how it writes an error."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from fluxrpc.errors import NativeErrorBody, ProviderError
from fluxrpc.protocols.base import ErrorView, Protocol
from fluxrpc.protocols.classify import CONTEXT, KEY, LIMITED, Row, words
from fluxrpc.protocols.provider_error import read_error_in_answer

ROWS: tuple[Row, ...] = (
    # https://platform.openai.com/docs/guides/error-codes: an address that the key may not be used from. An unsupported
    # region is none of the key's doing.
    Row(
        verdict=KEY,
        statuses=frozenset({401, 403}),
        words=words("ip_not_authorized account_suspended"),
    ),
    # Some servers wrap their own overload into the words of a limit; the status decides then.
    Row(verdict=LIMITED, statuses=frozenset({429}), words=words("slow_down")),
    # llama.cpp says this with a 400 of type `exceed_context_size_error` or only in words.
    Row(
        verdict=CONTEXT,
        statuses=frozenset({400, 413}),
        message=re.compile(r"exceeds the available context size", re.IGNORECASE),
    ),
)


def error_of(text: bytes) -> ProviderError:
    """The error inside a 2xx."""
    return read_error_in_answer(Protocol.OPENAI, ROWS, text)


def write_error(status: int, message: str, code: str) -> bytes:
    """`{"error": {"message", "type", "param", "code"}}`."""
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    return msgspec.json.encode({"error": {"message": message, "type": kind, "param": None, "code": code or None}})


_TYPES = {429: "rate_limit_error", 403: "permission_error"}


class _Said(NamedTuple):
    """How an error is said: HTTP status (0: as it was met), `type`, `code`."""

    status: int
    kind: str
    code: str | None = None


_INVALID = "invalid_request_error"
_BY_DETAIL: Mapping[str, _Said] = {
    "CONTEXT_LENGTH_EXCEEDED": _Said(400, _INVALID, "context_length_exceeded"),
    "CONTENT_REFUSED": _Said(400, _INVALID, "content_policy_violation"),
    "RATE_LIMITED": _Said(429, "rate_limit_error", "rate_limit_exceeded"),
    "CREDENTIAL_REJECTED": _Said(401, _INVALID, "invalid_api_key"),
    "QUOTA_SPENT": _Said(429, "insufficient_quota", "insufficient_quota"),
    "MODEL_NOT_FOUND": _Said(404, _INVALID, "model_not_found"),
    "PROVIDER_OVERLOADED": _Said(503, "service_unavailable_error", "server_is_overloaded"),
}
"""By the verdict's word."""
_BY_STATUS: Mapping[int, _Said] = {
    401: _Said(401, _INVALID, "invalid_api_key"),
    402: _Said(429, "insufficient_quota", "insufficient_quota"),
    403: _Said(403, "permission_error"),
    404: _Said(404, _INVALID),
    409: _Said(409, "conflict"),
    429: _Said(429, "rate_limit_error", "rate_limit_exceeded"),
    498: _Said(400, _INVALID, "content_policy_violation"),
    503: _Said(503, "service_unavailable_error", "server_is_overloaded"),
    529: _Said(503, "service_unavailable_error", "server_is_overloaded"),
}
"""By the status, where the verdict has no word of its own here; 529 is Anthropic's, 498 Cohere's."""


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one."""
    said = _BY_DETAIL.get(error.detail) or _BY_STATUS.get(error.http_status) or _plain(error.http_status)
    body = {"message": error.message, "type": said.kind, "param": error.param or None, "code": said.code}
    headers = []
    if error.request_id:
        headers.append(("x-request-id", error.request_id))
    if said.kind == "insufficient_quota":
        headers.append(("x-should-retry", "false"))
    elif error.retry_after_seconds is not None:
        headers.append(("retry-after", str(math.ceil(error.retry_after_seconds))))
    return NativeErrorBody(
        protocol=Protocol.OPENAI,
        http_status=said.status,
        headers=tuple(headers),
        body=msgspec.json.encode({"error": body}),
    )


def _plain(status: int) -> _Said:
    """A status without words: SDKs tell only the caller's faults (4xx) from the provider's."""
    if 400 <= status < 500:
        return _Said(status, _INVALID)
    return _Said(max(status, 500), "server_error")
