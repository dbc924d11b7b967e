"""Errors of Cohere: a message without any code word, so statuses and wording decide; and how it writes an error."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from fluxrpc.errors import NativeErrorBody, ProviderError
from fluxrpc.protocols.base import ErrorView, Protocol
from fluxrpc.protocols.classify import KEY, QUOTA, REFUSED, Row
from fluxrpc.protocols.provider_error import read_error_in_answer

ROWS: tuple[Row, ...] = (
    # https://docs.cohere.com/reference/errors: 498 is a token of the deny list in the request or the answer.
    Row(verdict=REFUSED, statuses=frozenset({498}), in_answer=False),
    # There is no code word that could name the key.
    Row(
        verdict=KEY,
        statuses=frozenset({403}),
        message=re.compile(r"invalid api (?:token|key)", re.IGNORECASE),
        in_answer=False,
    ),
    # A trial key's monthly allowance: waiting a second does not help.
    Row(
        verdict=QUOTA,
        statuses=frozenset({402, 429}),
        message=re.compile(r"calls? ?/ ?month|per month|monthly|billing limit", re.IGNORECASE),
        in_answer=False,
    ),
)


def error_of(text: bytes) -> ProviderError:
    """The error inside a 2xx."""
    return read_error_in_answer(Protocol.COHERE, ROWS, text)


def write_error(status: int, message: str, code: str) -> bytes:
    """`{"message"}`: it has no place for a status or a code."""
    del status, code
    return msgspec.json.encode({"message": message})


def failure(word: str, reason: msgspec.Raw) -> bytes:
    """An error body out of an answer that failed; its `error` may be a string or an object."""
    code = word.encode()
    text = bytes(reason)
    if text[:1] == b"{":
        return b'{"error":%s,"code":"%s"}' % (text, code)
    return b'{"message":%s,"code":"%s"}' % (text if text[:1] == b'"' else b'"the generation failed"', code)


_STATUSES: Mapping[str, int] = MappingProxyType(
    {
        "CONTEXT_LENGTH_EXCEEDED": 400,
        "CONTENT_REFUSED": 400,
        "CREDENTIAL_REJECTED": 401,
        "QUOTA_SPENT": 402,
        "FORBIDDEN": 403,
        "MODEL_NOT_FOUND": 404,
        "CONFLICT": 409,
        "RATE_LIMITED": 429,
        "PROVIDER_OVERLOADED": 503,
    }
)
"""What was found to the status that Cohere has for it; the others keep theirs where Cohere knows it."""
_KNOWN = frozenset({400, 401, 402, 403, 404, 422, 429, 498, 499, 500, 501, 503, 504})


_TOO_LONG = "too many tokens"
"""How clients tell this error from others, for it has no code."""


def _message(error: ErrorView) -> str:
    if error.detail != "CONTEXT_LENGTH_EXCEEDED" or _TOO_LONG in error.message.lower():
        return error.message
    return f"{_TOO_LONG}: {error.message}"


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one."""
    status = _STATUSES.get(error.detail, error.http_status)
    if status not in _KNOWN | {409}:
        status = 400 if 400 <= status < 500 else 500
    fields = {"message": _message(error)}
    if error.request_id:
        fields["id"] = error.request_id
    retry = error.retry_after_seconds
    headers = () if retry is None else (("retry-after", str(math.ceil(retry))),)
    return NativeErrorBody(
        protocol=Protocol.COHERE, http_status=status, headers=headers, body=msgspec.json.encode(fields)
    )
