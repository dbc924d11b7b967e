"""Errors of other protocols in the words of OpenAI Responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.base import ErrorView
from fluxrpc.protocols.responses.errors import write_error
from tests.unit.protocols.responses.responses_ways import RESPONSES

_CASES = [
    ("INVALID_REQUEST", 422, 422, "invalid_request_error", None),
    ("INVALID_REQUEST", 498, 400, "invalid_request_error", None),
    ("CONTEXT_LENGTH_EXCEEDED", 413, 400, "invalid_request_error", "context_length_exceeded"),
    ("CONTENT_REFUSED", 498, 400, "invalid_request_error", "content_policy_violation"),
    ("RATE_LIMITED", 429, 429, "rate_limit_error", "rate_limit_exceeded"),
    ("CREDENTIAL_REJECTED", 403, 401, "invalid_request_error", "invalid_api_key"),
    ("QUOTA_SPENT", 402, 429, "insufficient_quota", "insufficient_quota"),
    ("FORBIDDEN", 403, 403, "permission_error", None),
    ("MODEL_NOT_FOUND", 400, 404, "invalid_request_error", "model_not_found"),
    ("PROVIDER_OVERLOADED", 529, 503, "service_unavailable_error", "server_is_overloaded"),
    ("CONFLICT", 425, 409, "invalid_request_error", None),
    ("PROVIDER_ERROR", 504, 504, "server_error", None),
    ("PROVIDER_ERROR", 520, 500, "server_error", None),
    ("SOMETHING_NEW", 302, 500, "server_error", None),
]


@pytest.mark.parametrize(("detail", "met", "status", "kind", "code"), _CASES)
def test_each_verdict_has_its_words(detail: str, met: int, status: int, kind: str, code: str | None) -> None:
    written = RESPONSES.write_error(ErrorView(http_status=met, message="m", detail=detail, param="p"))
    assert (written.protocol, written.http_status) == ("responses", status)
    assert json.loads(written.body) == {"error": {"message": "m", "type": kind, "param": "p", "code": code}}


def test_hints_travel_in_headers() -> None:
    view = ErrorView(http_status=402, message="m", detail="QUOTA_SPENT", request_id="req_1", retry_after_seconds=37.4)
    assert RESPONSES.write_error(view).headers == (
        ("x-request-id", "req_1"),
        ("retry-after", "38"),
        ("x-should-retry", "false"),
    )
    assert RESPONSES.write_error(ErrorView(http_status=500, message="m")).headers == ()


def test_an_error_within_an_answer_is_said_flat_and_nested() -> None:
    view = ErrorView(http_status=200, message="Overloaded", detail="PROVIDER_OVERLOADED")
    nested: dict[str, Any] = {
        "message": "Overloaded",
        "type": "service_unavailable_error",
        "param": None,
        "code": "server_is_overloaded",
    }
    assert json.loads(RESPONSES.write_error(view).body) == {
        "type": "error",
        "sequence_number": 0,
        "code": "server_is_overloaded",
        "message": "Overloaded",
        "param": None,
        "error": nested,
    }


@pytest.mark.parametrize(
    ("status", "kind"), [(500, "server_error"), (429, "rate_limit_error"), (400, "invalid_request_error")]
)
def test_faults_of_ours(status: int, kind: str) -> None:
    assert json.loads(write_error(status, "m", "")) == {
        "error": {"message": "m", "type": kind, "param": None, "code": None}
    }
