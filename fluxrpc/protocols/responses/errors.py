"""Errors of OpenAI Responses: as in Chat Completions over HTTP, plus words that stand only inside an answer."""

from __future__ import annotations

import re

import msgspec

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


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one."""
    raise NotImplementedError
