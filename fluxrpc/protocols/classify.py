"""What an error of a provider means: the one table from status, code word and body to an outcome.

A code word says more than a status, and a protocol's own rows say more than the common ones; so rows are tried in
that order, and the first that matches decides. Which outcome settles which door is decided elsewhere
(`fluxrpc.resilience.blame`). Invariant: every status and every body gets exactly one verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fluxrpc.errors import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an error means for us."""

    outcome: Outcome
    detail: str
    """A short word for the attempt's trace."""
    may_pass: bool = False
    """The same request may succeed on the same route a little later."""
    context_length: bool = False
    content_refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFacts:
    """What is known of an error. `words` are all code words of the body in lower case, `message` is for people."""

    status: int
    words: frozenset[str] = frozenset()
    message: str = ""
    in_answer: bool = False
    """The error stood inside a 2xx."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: it matches where all of its conditions hold. No words, pattern or statuses: no such condition."""

    verdict: Verdict
    statuses: frozenset[int] = frozenset()
    words: frozenset[str] = frozenset()
    message: re.Pattern[str] | None = None
    in_answer: bool | None = None

    def matches(self, facts: ErrorFacts) -> bool:
        """Whether the row speaks of this error. An error inside a 2xx has no status of its own."""
        return (
            (not self.statuses or facts.in_answer or facts.status in self.statuses)
            and (not self.words or not self.words.isdisjoint(facts.words))
            and (self.message is None or self.message.search(facts.message) is not None)
            and (self.in_answer is None or self.in_answer is facts.in_answer)
        )


CALLER = Verdict(outcome=Outcome.CALLER, detail="INVALID_REQUEST")
CONTEXT = Verdict(outcome=Outcome.CALLER, detail="CONTEXT_LENGTH_EXCEEDED", context_length=True)
REFUSED = Verdict(outcome=Outcome.CALLER, detail="CONTENT_REFUSED", content_refused=True)
LIMITED = Verdict(outcome=Outcome.LIMITED, detail="RATE_LIMITED")
KEY = Verdict(outcome=Outcome.CREDENTIAL, detail="CREDENTIAL_REJECTED")
QUOTA = Verdict(outcome=Outcome.CREDENTIAL, detail="QUOTA_SPENT")
FORBIDDEN = Verdict(outcome=Outcome.MODEL, detail="FORBIDDEN")
NO_MODEL = Verdict(outcome=Outcome.MODEL, detail="MODEL_NOT_FOUND")
BROKEN = Verdict(outcome=Outcome.MODEL, detail="PROVIDER_ERROR")
OVERLOADED = Verdict(outcome=Outcome.MODEL, detail="PROVIDER_OVERLOADED", may_pass=True)
PASSING = Verdict(outcome=Outcome.MODEL, detail="PROVIDER_ERROR", may_pass=True)
REDIRECT = Verdict(outcome=Outcome.MODEL, detail="REDIRECT")
# Counts against nobody, yet another try may do: the two 4xx that every SDK repeats.
CONFLICT = Verdict(outcome=Outcome.CALLER, detail="CONFLICT", may_pass=True)

_REQUEST_FAULT = frozenset({400, 413, 422})
_MONEY = frozenset({400, 402, 403, 429})


def words(text: str) -> frozenset[str]:
    """A set of code words, given with blanks between them."""
    return frozenset(text.split())


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_COMMON: tuple[Row, ...] = (
    # What is asked for cannot be had, however often: before the rows for rate limits, whose status it shares.
    Row(
        verdict=QUOTA,
        words=words(
            "insufficient_quota credit_balance_exhausted billing_error "
            "billing_hard_limit_reached billing_not_active quota_exceeded "
            "insufficient_balance insufficient_credits"
        ),
    ),
    Row(
        verdict=QUOTA,
        statuses=_MONEY,
        message=_pattern(
            r"credit balance is (?:too low|exhausted)",
            r"insufficient (?:balance|credits?|funds)",
            r"exceeded your current quota, please check your plan and billing",
            r"billing (?:hard )?limit",
        ),
        in_answer=False,
    ),
    Row(
        verdict=KEY,
        words=words(
            "invalid_api_key api_key_invalid api_key_expired expired_api_key "
            "invalid_organization account_deactivated organization_deactivated "
            "authentication_error invalid_authentication unauthenticated key_disabled "
            "api_key_disabled invalid_token token_expired"
        ),
    ),
    Row(
        verdict=CONTEXT,
        words=words(
            "context_length_exceeded context_window_exceeded string_above_max_length "
            "model_context_window_exceeded exceed_context_size_error"
        ),
    ),
    Row(
        verdict=CONTEXT,
        statuses=_REQUEST_FAULT,
        message=_pattern(
            r"maximum context length",
            r"context (?:length|window|size)[^.]{0,80}exceed",
            r"exceed[^.]{0,80}context (?:length|window|size|limit)",
            r"prompt is too long",
            r"input token count[^.]{0,60}exceeds",
            r"too many (?:input )?tokens",
            r"input length and `?max_tokens`? exceed context limit",
        ),
    ),
    Row(
        verdict=REFUSED,
        words=words(
            "content_policy_violation content_filter responsibleaipolicyviolation bio_policy "
            "misalignment_policy_violation moderation_blocked content_refused"
        ),
    ),
    Row(verdict=CALLER, statuses=frozenset({404}), words=frozenset({"previous_response_not_found"})),
    Row(verdict=NO_MODEL, statuses=frozenset({400, 404}), words=frozenset({"model_not_found"})),
    # A thing of the caller's that is not there: the route is as good as before.
    Row(
        verdict=CALLER,
        statuses=frozenset({404}),
        message=_pattern(
            r"\b(?:file|container|conversation|cachedcontents?|vector store|item|response)"
            r" (?:with id )?['\"`]?[\w/-]+['\"`]? (?:was )?not found",
            r"no such (?:file|container)",
        ),
    ),
    Row(verdict=OVERLOADED, words=frozenset({"overloaded_error", "server_is_overloaded", "overloaded"})),
    Row(
        verdict=LIMITED,
        words=words("rate_limit_error rate_limit_exceeded resource_exhausted too_many_requests"),
        in_answer=True,
    ),
    # Inside a 2xx the fault is the provider's, whatever it says: it had accepted the request.
    Row(verdict=PASSING, in_answer=True),
)

_BY_STATUS: dict[int, Verdict] = {
    400: CALLER,
    401: KEY,
    402: QUOTA,
    403: FORBIDDEN,
    404: NO_MODEL,
    408: CONFLICT,
    409: CONFLICT,
    413: CALLER,
    422: CALLER,
    425: CONFLICT,
    429: LIMITED,
    501: BROKEN,
    503: OVERLOADED,
    505: BROKEN,
    529: OVERLOADED,
}


def classify(facts: ErrorFacts, rows: Sequence[Row] = ()) -> Verdict:
    """The verdict: the protocol's own `rows`, then the common ones, then the status alone."""
    for row in rows:
        if row.matches(facts):
            return row.verdict
    for row in _COMMON:
        if row.matches(facts):
            return row.verdict
    return _BY_STATUS.get(facts.status) or _by_class(facts.status)


def _by_class(status: int) -> Verdict:
    """Other statuses: a 5xx may pass, a 3xx is never followed, other 4xx count against nobody."""
    if status >= 500:
        return PASSING
    if status >= 400:
        return CALLER
    return REDIRECT if status >= 300 else BROKEN
