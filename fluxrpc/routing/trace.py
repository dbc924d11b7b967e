"""The trace of a request: one contract `Attempt` for each try, written as it ends.

The contract's message is the record; there is no second shape of it.
"""

from __future__ import annotations

import re

from fluxrpc.errors import AttemptError, Outcome
from fluxrpc.resilience.blame import Blame
from fluxrpc.v1 import outcome_pb2 as wire
from fluxrpc.v1.outcome_pb2 import Attempt, TranslationNote
from fluxrpc.v1.usage_pb2 import Usage

_OUTCOMES = {outcome: wire.Outcome.Value(f"OUTCOME_{outcome.name}") for outcome in Outcome}
_BLAMES = {blame: wire.Blame.Value(f"BLAME_{blame.name}") for blame in Blame}
_NOT_WORD = re.compile(r"[^A-Z0-9]+")
_NANOS = 1_000_000_000


def attempt_record(
    route: str,
    *,
    started_at: float,
    seconds: float,
    outcome: Outcome,
    blame: Blame,
    http_status: int = 0,
    error: AttemptError | None = None,
    usage: Usage | None = None,
) -> Attempt:
    """The record of one attempt. `started_at` is Unix seconds, `seconds` how long it took."""
    if error is not None:
        http_status = error.http_status
    record = Attempt(
        route=route,
        outcome=_OUTCOMES[outcome],
        blame=_BLAMES[blame],
        http_status=http_status,
        reason="" if error is None else reason_word(error.detail),
        usage=usage,
    )
    # Set in place: two messages less to build and to copy.
    start, duration = record.start, record.duration
    start.seconds, start.nanos = int(started_at), int(started_at % 1 * _NANOS)
    duration.seconds, duration.nanos = int(seconds), int(seconds % 1 * _NANOS)
    return record


def passed_over_record(route: str, *, at: float, reason: str) -> Attempt:
    """A route that was not asked, because it cannot say the request. `at` is Unix seconds."""
    record = Attempt(route=route, outcome=wire.OUTCOME_PASSED_OVER, blame=wire.BLAME_NOBODY, reason=reason_word(reason))
    record.start.seconds, record.start.nanos = int(at), int(at % 1 * _NANOS)
    return record


def reason_word(detail: str) -> str:
    """A detail as the contract writes reasons: `connect timeout` is `CONNECT_TIMEOUT`."""
    return _NOT_WORD.sub("_", detail.upper()).strip("_")[:64]


def malformed_notes(count: int) -> tuple[TranslationNote, ...]:
    """Broken events of the provider are never passed on; the caller learns that there were some."""
    if not count:
        return ()
    reason = f"{count} malformed event{'s' if count > 1 else ''} of the provider were left out"
    return (TranslationNote(action=wire.NOTE_ACTION_DROPPED, code="MALFORMED_EVENT", reason=reason),)
