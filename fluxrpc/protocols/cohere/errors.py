"""Errors of Cohere: a message without any code word, so statuses and wording decide; and how it writes an error."""

from __future__ import annotations

import re

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


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one."""
    raise NotImplementedError
