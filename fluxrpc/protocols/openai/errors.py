"""Errors of OpenAI Chat Completions: the words that only it (and its copies) use, and how it writes an error."""

from __future__ import annotations

import re

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


def write_error_view(error: ErrorView) -> NativeErrorBody:
    """An upstream error of another protocol in the words of this one."""
    raise NotImplementedError
