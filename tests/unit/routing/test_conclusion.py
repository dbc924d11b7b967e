"""Whose words reach the caller: what concerns our account or our choice of model does not."""

from __future__ import annotations

import pytest

from fluxrpc.errors import NativeErrorBody, Outcome, ProviderError, RoutingError
from fluxrpc.routing.conclusion import conclude, interrupted


def told(status: int, outcome: Outcome) -> list[RoutingError]:
    native = NativeErrorBody(protocol="openai", http_status=status, body=b'{"error":{}}')
    error = ProviderError("DETAIL", outcome=outcome, http_status=status, provider_message="words", native=native)
    whole = conclude([error], attempts=(), shut_by=frozenset(), retry_after_seconds=None)
    return [whole, interrupted(error, attempts=(), usage=None)]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, Outcome.CREDENTIAL), (402, Outcome.CREDENTIAL), (429, Outcome.CREDENTIAL), (200, Outcome.CREDENTIAL),
        (403, Outcome.MODEL), (404, Outcome.MODEL),
    ],
)  # fmt: skip
def test_what_is_ours_is_not_shown(status: int, outcome: Outcome) -> None:
    for error in told(status, outcome):
        assert error.native is None
        assert "words" not in error.safe_message


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(400, Outcome.CALLER), (429, Outcome.LIMITED), (500, Outcome.MODEL), (529, Outcome.MODEL), (200, Outcome.MODEL)],
)
def test_what_is_the_providers_or_the_callers_is(status: int, outcome: Outcome) -> None:
    for error in told(status, outcome):
        assert error.native is not None
        assert error.native.http_status == status
