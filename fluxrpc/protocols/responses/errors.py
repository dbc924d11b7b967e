"""Errors of OpenAI Responses: as in Chat Completions over HTTP, plus words that stand only inside an answer."""

from __future__ import annotations

import math
import re

import msgspec
from msgspec import Struct

from fluxrpc.errors import NativeErrorBody, ProviderError
from fluxrpc.protocols.base import ErrorView, Protocol
from fluxrpc.protocols.classify import CALLER, KEY, LIMITED, Row, words
from fluxrpc.protocols.provider_error import read_error_in_answer

ROWS: tuple[Row, ...] = (
    Row(
        verdict=KEY,
        statuses=frozenset({401, 403}),
        words=words("ip_not_authorized account_suspended"),
    ),
    Row(verdict=LIMITED, statuses=frozenset({429}), words=frozenset({"slow_down"})),
    # The answer says only after it was accepted that the prompt or an image in it is unusable.
    Row(
        verdict=CALLER,
        words=words(
            "invalid_prompt invalid_image invalid_image_format invalid_base64_image "
            "invalid_image_url image_too_large image_too_small image_parse_error "
            "image_content_policy_violation invalid_image_mode image_file_too_large "
            "unsupported_image_media_type empty_image_file failed_to_download_image "
            "image_file_not_found"
        ),
    ),
    # A stored response or conversation that this account does not have.
    Row(
        verdict=CALLER,
        statuses=frozenset({404}),
        message=re.compile(r"(?:previous response|conversation|item) with id", re.IGNORECASE),
    ),
)

_TYPES = {429: "rate_limit_error", 403: "permission_error"}


def error_of(text: bytes) -> ProviderError:
    """The error inside a 2xx."""
    return read_error_in_answer(Protocol.RESPONSES, ROWS, text)


def write_error(status: int, message: str, code: str) -> bytes:
    """`{"error": {"message", "type", "param", "code"}}`."""
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    return msgspec.json.encode({"error": {"message": message, "type": kind, "param": None, "code": code or None}})


class _Form(Struct, frozen=True, kw_only=True):
    """How one verdict is said. Status 0: that of the error, where it is one of `_STATUSES`, else `otherwise`."""

    status: int = 0
    otherwise: int = 400
    type: str = "invalid_request_error"
    code: str | None = None


_STATUSES = frozenset({400, 408, 409, 413, 422, 499, 500, 501, 502, 504})
_FORMS = {
    "INVALID_REQUEST": _Form(),
    "CONTEXT_LENGTH_EXCEEDED": _Form(status=400, code="context_length_exceeded"),
    "CONTENT_REFUSED": _Form(status=400, code="content_policy_violation"),
    "RATE_LIMITED": _Form(status=429, type="rate_limit_error", code="rate_limit_exceeded"),
    "CREDENTIAL_REJECTED": _Form(status=401, code="invalid_api_key"),
    "QUOTA_SPENT": _Form(status=429, type="insufficient_quota", code="insufficient_quota"),
    "FORBIDDEN": _Form(status=403, type="permission_error"),
    "MODEL_NOT_FOUND": _Form(status=404, code="model_not_found"),
    "PROVIDER_OVERLOADED": _Form(status=503, type="service_unavailable_error", code="server_is_overloaded"),
    "CONFLICT": _Form(otherwise=409),
}
_SERVER_ERROR = _Form(otherwise=500, type="server_error")


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one.

    One that came within an answer has no status of its own there: it also says flat what an `error` event says, because
    the API's reference has it flat and the live service nested.
    """
    form = _FORMS.get(error.detail, _SERVER_ERROR)
    status = form.status or (error.http_status if error.http_status in _STATUSES else form.otherwise)
    fields = {"message": error.message, "type": form.type, "param": error.param or None, "code": form.code}
    body: dict[str, object] = {"error": fields}
    if error.http_status < 300:
        flat = {"type": "error", "sequence_number": 0, "code": form.code or form.type}
        body = {**flat, "message": error.message, "param": fields["param"], "error": fields}
    headers = []
    if error.request_id:
        headers.append(("x-request-id", error.request_id))
    if error.retry_after_seconds is not None:
        headers.append(("retry-after", str(math.ceil(error.retry_after_seconds))))
    if error.detail == "QUOTA_SPENT":  # the SDKs repeat every other 429
        headers.append(("x-should-retry", "false"))
    return NativeErrorBody(
        protocol=Protocol.RESPONSES, http_status=status, headers=tuple(headers), body=msgspec.json.encode(body)
    )
