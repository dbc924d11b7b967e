"""Reading a whole 2xx answer: decode the few fields that matter, and name what is wrong with a body that has none.

Invariant: what comes back is an answer of the protocol, complete and free of an error; all else is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.protocols.json_text import JsonFault, decode_answer

T = TypeVar("T")


InAnswerError = Callable[[bytes], ProviderError]
"""Makes an error out of the text of one that stood inside a 2xx."""


class _ErrorFields(msgspec.Struct):
    error: msgspec.Raw = msgspec.Raw(b"")
    message: msgspec.Raw = msgspec.Raw(b"")


_ANYTHING = msgspec.json.Decoder(msgspec.Raw)


def read_whole(
    decoder: msgspec.json.Decoder[T],
    body: bytes,
    error_of: InAnswerError,
    *,
    decode: Callable[[msgspec.json.Decoder[T], bytes], T] = decode_answer,
) -> T:
    """Decode the body of a 2xx.

    Raises:
        AnswerFault: EMPTY_ANSWER, HTML_ANSWER, TRUNCATED_ANSWER, MALFORMED_ANSWER (not JSON) or FOREIGN_ANSWER
            (JSON, but no answer of this protocol).
        ProviderError: the body is an error.
    """
    text = body.strip(b" \t\r\n")
    if not text:
        raise AnswerFault("EMPTY_ANSWER")
    try:
        value = decode(decoder, body)
    except JsonFault as fault:
        raise explain_answer(text, error_of, fault) from None
    return value


def explain_answer(text: bytes, error_of: InAnswerError, fault: JsonFault | None = None) -> AnswerFault | ProviderError:
    """What a body that is no answer is instead."""
    if text.startswith(b"<"):
        return AnswerFault("HTML_ANSWER")
    if holds_error(text):
        return error_of(text)
    try:
        decode_answer(_ANYTHING, text)
    except JsonFault as broken:
        return AnswerFault("TRUNCATED_ANSWER" if broken.incomplete else "MALFORMED_ANSWER")
    return AnswerFault("FOREIGN_ANSWER", f"FOREIGN_ANSWER: {fault}" if fault else None)


def holds_error(text: bytes) -> bool:
    """Whether the text is a JSON object with an `error` that says something; also within a list (Gemini).

    Cohere and some copies of OpenAI write the message on top, where no answer has a string.
    """
    if b'"error"' not in text and b'"message"' not in text:
        return False
    try:
        found = msgspec.json.decode(text, type=_ErrorFields | list[_ErrorFields])
    except (msgspec.DecodeError, RecursionError):
        return False
    return any(
        says_something(each.error) or bytes(each.message)[:1] == b'"'
        for each in (found if isinstance(found, list) else [found])
    )


def read_loosely(decoder: msgspec.json.Decoder[T], text: msgspec.Raw) -> T | None:
    """A part of an answer that is good to know but no reason to refuse the rest: None where it is absent or odd."""
    if not says_something(text):
        return None
    try:
        return decode_answer(decoder, bytes(text))
    except JsonFault:
        return None


def says_something(error: msgspec.Raw) -> bool:
    """Whether the value of an `error` field is one: SDKs look for a truthy value."""
    return bytes(error) not in (b"", b"null", b'""', b"{}", b"false", b"0", b"[]")
