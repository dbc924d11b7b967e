"""What the caller is told once nothing is left to try. Pure.

One attempt's fault is for the log; the caller needs the one status that says what to do now: mend the request, wait,
try elsewhere, or call the operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from fluxrpc.errors import (
    AnswerOversize,
    AnswerTooLarge,
    AttemptError,
    CircuitOpen,
    ContentRefused,
    ContextLengthExceeded,
    CredentialFailed,
    NativeErrorBody,
    Outcome,
    ProviderError,
    ProviderFailed,
    ProviderRejected,
    RateLimited,
    RoutingError,
    StreamInterrupted,
)
from fluxrpc.routing.route import Door
from fluxrpc.v1.outcome_pb2 import Attempt
from fluxrpc.v1.usage_pb2 import Usage

# Of several faults the caller is told the one that an operator can do least about at once and that passes soonest:
# a sick provider before a rate limit before a bad key. Whatever stands first and occurred decides.
_VERDICTS: Sequence[tuple[frozenset[Outcome], type[RoutingError], str]] = (
    (frozenset({Outcome.MODEL, Outcome.NETWORK}), ProviderFailed, "no provider gave a usable answer"),
    (frozenset({Outcome.LIMITED}), RateLimited, "every provider limits our rate"),
    (frozenset({Outcome.CREDENTIAL}), CredentialFailed, "the providers reject our credentials or their quota is spent"),
)

# Why a table has nothing to offer, when no attempt was made: the first of these that is among its doors decides.
_SHUT: Sequence[tuple[Door, type[RoutingError], str]] = (
    (Door.ENDPOINT, CircuitOpen, "every route is shut: the providers failed a short time ago"),
    (Door.ROUTE, CircuitOpen, "every route is shut: the providers failed a short time ago"),
    (Door.HINT, RateLimited, "every route is shut: the providers told us to wait"),
    (Door.CREDENTIAL, CredentialFailed, "every route is shut: the providers reject our credentials"),
)


_OUR_OWN = frozenset({401, 402, 403, 404})
"""HTTP statuses of errors about key, bill, permission and model."""


def interrupted(error: AttemptError, *, attempts: Sequence[Attempt], usage: Usage | None) -> StreamInterrupted:
    """The error for an answer that had begun and broke off with `error`."""
    return StreamInterrupted(
        f"the answer broke off: {error.safe_message}", attempts=attempts, partial_usage=usage, native=_native(error)
    )


def conclude(
    errors: Sequence[AttemptError],
    *,
    attempts: Sequence[Attempt],
    shut_by: frozenset[Door],
    retry_after_seconds: float | None,
) -> RoutingError:
    """The error for a request whose attempts ended in `errors` (oldest first; none where every door was shut)."""
    if not errors:
        return _shut_out(shut_by, retry_after_seconds)
    last = errors[-1]
    if isinstance(last, AnswerOversize):
        return AnswerTooLarge(f"the provider's answer is too large: {last.safe_message}", attempts=attempts)
    if last.outcome is Outcome.CALLER and not last.retry_same_route:
        return _rejected(last, attempts)
    outcomes = {error.outcome for error in errors}
    for among, kind, words in _VERDICTS:
        if outcomes & among:
            told = next(error for error in reversed(errors) if error.outcome in among)
            if kind is CredentialFailed:
                # The credential is ours: its error text may name the key, and is not the caller's business. Waiting
                # does not mend a key either.
                return kind(words, attempts=attempts)
            hint = _hint(told) if kind is RateLimited else retry_after_seconds
            message = f"{words}; last: {told.safe_message}"
            return kind(message, attempts=attempts, native=_native(told), retry_after_seconds=hint)
    return ProviderFailed(last.safe_message, attempts=attempts)


def _shut_out(shut_by: frozenset[Door], retry_after_seconds: float | None) -> RoutingError:
    for door, kind, words in _SHUT:
        if door in shut_by:
            wait = None if kind is CredentialFailed else retry_after_seconds
            return kind(words, retry_after_seconds=wait)
    return CircuitOpen("no route can be used now", retry_after_seconds=retry_after_seconds)


def _rejected(error: AttemptError, attempts: Sequence[Attempt]) -> RoutingError:
    kind: type[ProviderRejected] = ProviderRejected
    message = error.safe_message
    if isinstance(error, ProviderError):
        if error.context_length:
            kind = ContextLengthExceeded
        elif error.content_refused:
            kind = ContentRefused
        # It is about the caller's own request, so the provider's words may reach the caller.
        message = f"the provider rejects the request: {error.provider_message or error.safe_message}"
    return kind(message, attempts=attempts, native=_native(error))


def _native(error: AttemptError) -> NativeErrorBody | None:
    """The provider's own error, where it is for the caller.

    What concerns our account or our choice of a model is not: shown as it is, an SDK would blame the caller's own key.
    The edge says in the caller's protocol that the provider failed.
    """
    if not isinstance(error, ProviderError) or error.native is None or error.outcome is Outcome.CREDENTIAL:
        return None
    return None if error.native.http_status in _OUR_OWN else error.native


def _hint(error: AttemptError) -> float | None:
    return error.retry_after_seconds if isinstance(error, ProviderError) else None
