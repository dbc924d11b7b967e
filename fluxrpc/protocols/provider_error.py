"""From an error answer to a `ProviderError`: reads the few fields that matter, lets `classify` decide, keeps the body.

The readers of all protocols share this, because error bodies differ in their words, not in their form: an object
`error` with `message` and some code words, or these fields on top. Compatible servers mix the forms freely.
Invariant: no body is too odd to be read; what is not understood counts as no words at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fluxrpc.errors import NativeErrorBody, ProviderError
from fluxrpc.protocols.base import Headers, Protocol
from fluxrpc.protocols.classify import ErrorFacts, Row, Verdict, classify
from fluxrpc.protocols.headers import visible_headers
from fluxrpc.protocols.retry_hint import read_hint

MAX_BODY_BYTES = 64 * 1024
"""A longer error body is not kept: nobody reads it, and memory is bounded."""
MAX_MESSAGE_CHARACTERS = 2000
_MAX_WORD_CHARACTERS = 80
PER_DAY_WORD = "quota_per_day"
"""Stands for a violated quota of a day, whose own names have no end."""
_WORD_KEYS = ("code", "type", "status", "reason", "error_code", "error_type")


def read_error(
    protocol: Protocol, rows: Sequence[Row], status: int, headers: Headers, body: bytes, *, now: float
) -> ProviderError:
    """Classify a non-2xx answer."""
    error = _parse(body)
    facts = _facts(status, error, in_answer=False)
    verdict = classify(facts, rows)
    is_limit = status == 429
    hint = read_hint(headers, now=now, is_limit=is_limit, body_delay=_retry_delay(error))
    return _build(
        facts,
        verdict,
        error,
        hint=hint,
        may_pass=_may_pass(verdict, headers, is_limit=is_limit, hint=hint),
        native=NativeErrorBody(
            protocol=protocol,
            http_status=status,
            headers=visible_headers(headers),
            body=body if error is not None and len(body) <= MAX_BODY_BYTES else b"",
        ),
    )


def read_error_in_answer(protocol: Protocol, rows: Sequence[Row], text: bytes) -> ProviderError:
    """Classify an error that stood inside a 2xx: an event of a stream, or the body of a whole answer."""
    error = _parse(text)
    facts = _facts(200, error, in_answer=True)
    return _build(
        facts,
        verdict := classify(facts, rows),
        error,
        hint=read_hint({}, now=0.0, is_limit=False, body_delay=_retry_delay(error)),
        may_pass=verdict.may_pass,
        native=NativeErrorBody(protocol=protocol, http_status=200, body=text if len(text) <= MAX_BODY_BYTES else b""),
    )


def _build(
    facts: ErrorFacts,
    verdict: Verdict,
    error: dict[str, Any] | None,
    *,
    hint: float | None,
    may_pass: bool,
    native: NativeErrorBody,
) -> ProviderError:
    return ProviderError(
        verdict.detail,
        outcome=verdict.outcome,
        http_status=facts.status,
        provider_code=next(_words(error or {}), ""),
        provider_message=facts.message,
        retry_after_seconds=hint,
        retry_same_route=may_pass,
        context_length=verdict.context_length,
        content_refused=verdict.content_refused,
        native=native,
    )


def _may_pass(verdict: Verdict, headers: Headers, *, is_limit: bool, hint: float | None) -> bool:
    """The provider's own word wins; a limit passes only where it is known when."""
    told = headers.get("x-should-retry")
    if told == "false":
        return False
    return verdict.may_pass or (is_limit and verdict.outcome.value == "limited" and hint is not None)


def _parse(body: bytes) -> dict[str, Any] | None:
    """The object that holds the message and the words; None where the body is no such JSON."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    if isinstance(value, list) and value:  # Gemini wraps the error of a stream request into a list
        value = value[0]
    if not isinstance(value, dict):
        return None
    response = value.get("response")
    if isinstance(response, dict):  # responses: the event `response.failed`
        value = response
    error = value.get("error")
    if isinstance(error, dict):
        return error
    if isinstance(error, str):
        return {"message": error, **value}
    return value


def _facts(status: int, error: dict[str, Any] | None, *, in_answer: bool) -> ErrorFacts:
    if error is None:
        return ErrorFacts(status=status, in_answer=in_answer)
    message = error.get("message", error.get("detail", ""))
    return ErrorFacts(
        status=status,
        words=frozenset(word.lower() for word in _words(error)),
        message=message[:MAX_MESSAGE_CHARACTERS] if isinstance(message, str) else "",
        in_answer=in_answer,
    )


def _words(error: dict[str, Any]) -> Iterator[str]:
    """All code words, the most exact first: `code` before `type`, then those in `details`."""
    details = error.get("details")
    nodes = [error, *(details if isinstance(details, list) else [details])]
    for node in nodes:
        if isinstance(node, dict):
            for key in _WORD_KEYS:
                word = node.get(key)
                if isinstance(word, str) and word:
                    yield word[:_MAX_WORD_CHARACTERS]
            if _names_a_day(node.get("violations")):
                yield PER_DAY_WORD


def _names_a_day(violations: object) -> bool:
    """`google.rpc.QuotaFailure` of a daily limit, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`."""
    if not isinstance(violations, list):
        return False
    ids = (each.get("quotaId") for each in violations if isinstance(each, dict))
    return any(isinstance(quota_id, str) and "PerDay" in quota_id for quota_id in ids)


def _retry_delay(error: dict[str, Any] | None) -> str:
    """`google.rpc.RetryInfo.retryDelay`, such as `37s`."""
    details = (error or {}).get("details")
    for node in details if isinstance(details, list) else ():
        if isinstance(node, dict) and isinstance(delay := node.get("retryDelay"), str):
            return delay
    return ""
