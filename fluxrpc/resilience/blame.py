"""Who is to blame: the one table from the outcome of an attempt to what it settles at the three doors.

A dead host, a sick model, a bad key, a caller's mistake and a caller who hung up are five different things; only the
first three may shut a door, each its own. What the outcome of an attempt *is* gets decided elsewhere, by the errors
(`fluxrpc.errors`) and by the classification of provider answers; here it is only judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from fluxrpc.errors import Outcome
from fluxrpc.resilience.breaker import Verdict


class Blame(StrEnum):
    """On whom the outcome of an attempt falls."""

    NOBODY = "nobody"
    CALLER = "caller"
    ENDPOINT = "endpoint"
    CREDENTIAL = "credential"
    ROUTE = "route"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one outcome settles."""

    blame: Blame
    endpoint: Verdict
    route: Verdict
    shuts_credential: bool = False
    """The credential's door shuts for its time."""
    binds_hint: bool = False
    """The provider's hint, if it gave one, keeps the route shut until it has passed."""


_SERVED = Judgement(blame=Blame.NOBODY, endpoint=Verdict.SUCCESS, route=Verdict.SUCCESS)

JUDGEMENTS: Mapping[Outcome, Judgement] = MappingProxyType(
    {
        Outcome.OK: _SERVED,
        # A content decision is a result, not a fault.
        Outcome.REFUSED: _SERVED,
        Outcome.CALLER: Judgement(blame=Blame.CALLER, endpoint=Verdict.SUCCESS, route=Verdict.EXCLUDED),
        Outcome.LIMITED: Judgement(blame=Blame.ROUTE, endpoint=Verdict.SUCCESS, route=Verdict.FAILURE, binds_hint=True),
        Outcome.CREDENTIAL: Judgement(
            blame=Blame.CREDENTIAL, endpoint=Verdict.SUCCESS, route=Verdict.EXCLUDED, shuts_credential=True
        ),
        Outcome.MODEL: Judgement(blame=Blame.ROUTE, endpoint=Verdict.SUCCESS, route=Verdict.FAILURE),
        Outcome.NETWORK: Judgement(blame=Blame.ENDPOINT, endpoint=Verdict.FAILURE, route=Verdict.EXCLUDED),
        Outcome.ABANDONED: Judgement(blame=Blame.NOBODY, endpoint=Verdict.EXCLUDED, route=Verdict.EXCLUDED),
    }
)


def judge(outcome: Outcome, *, is_silence: bool = False, silence_blames_endpoint: bool = False) -> Judgement:
    """What an outcome settles.

    `is_silence`: the peer accepted the connection and then said nothing for longer than a limit. That is the model's
    fault, unless the service's settings say that for it silence means a dead host.
    """
    if is_silence and silence_blames_endpoint and outcome is Outcome.MODEL:
        outcome = Outcome.NETWORK
    return JUDGEMENTS[outcome]
