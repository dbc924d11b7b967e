from __future__ import annotations

import pytest

from fluxrpc.errors import Outcome
from fluxrpc.resilience.blame import JUDGEMENTS, Blame, judge
from fluxrpc.resilience.breaker import Verdict

S, F, X = Verdict.SUCCESS, Verdict.FAILURE, Verdict.EXCLUDED


@pytest.mark.parametrize(
    ("outcome", "endpoint", "route", "shuts_credential", "binds_hint", "blame"),
    [
        (Outcome.OK, S, S, False, False, Blame.NOBODY),
        (Outcome.REFUSED, S, S, False, False, Blame.NOBODY),
        (Outcome.CALLER, S, X, False, False, Blame.CALLER),
        (Outcome.LIMITED, S, F, False, True, Blame.ROUTE),
        (Outcome.CREDENTIAL, S, X, True, False, Blame.CREDENTIAL),
        (Outcome.MODEL, S, F, False, False, Blame.ROUTE),
        (Outcome.NETWORK, F, X, False, False, Blame.ENDPOINT),
        (Outcome.ABANDONED, X, X, False, False, Blame.NOBODY),
    ],
)
def test_each_outcome_settles_its_doors(
    *, outcome: Outcome, endpoint: Verdict, route: Verdict, shuts_credential: bool, binds_hint: bool, blame: Blame
) -> None:
    judgement = judge(outcome)
    assert (judgement.endpoint, judgement.route) == (endpoint, route)
    assert (judgement.shuts_credential, judgement.binds_hint) == (shuts_credential, binds_hint)
    assert judgement.blame is blame


def test_no_outcome_is_left_out() -> None:
    assert set(JUDGEMENTS) == set(Outcome)


def test_silence_is_the_models_unless_the_service_says_otherwise() -> None:
    assert judge(Outcome.MODEL, is_silence=True).blame is Blame.ROUTE
    assert judge(Outcome.MODEL, is_silence=True, silence_blames_endpoint=True).blame is Blame.ENDPOINT
    assert judge(Outcome.MODEL, silence_blames_endpoint=True).blame is Blame.ROUTE
    assert judge(Outcome.ABANDONED, is_silence=True, silence_blames_endpoint=True).blame is Blame.NOBODY
