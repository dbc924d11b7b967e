"""Errors of other providers in the words of Anthropic."""

from __future__ import annotations

import json

import pytest

from fluxrpc.protocols.base import ErrorView
from tests.unit.protocols.anthropic.saying import ANTHROPIC

CASES: list[tuple[int, str, int, str]] = [
    (429, "RATE_LIMITED", 429, "rate_limit_error"),
    (429, "QUOTA_SPENT", 402, "billing_error"),
    (400, "CREDENTIAL_REJECTED", 401, "authentication_error"),
    (403, "FORBIDDEN", 403, "permission_error"),
    (404, "MODEL_NOT_FOUND", 404, "not_found_error"),
    (503, "PROVIDER_OVERLOADED", 529, "overloaded_error"),
    (413, "CONTEXT_LENGTH_EXCEEDED", 400, "invalid_request_error"),
    (498, "CONTENT_REFUSED", 400, "invalid_request_error"),
    (409, "CONFLICT", 409, "conflict_error"),
    (413, "INVALID_REQUEST", 413, "request_too_large"),
    (422, "INVALID_REQUEST", 400, "invalid_request_error"),
    (502, "PROVIDER_ERROR", 502, "api_error"),
    (504, "PROVIDER_ERROR", 504, "timeout_error"),
    (200, "PROVIDER_ERROR", 500, "api_error"),
]


LONG = {"CONTEXT_LENGTH_EXCEEDED": "prompt is too long: m"}


@pytest.mark.parametrize(("status", "detail", "expected", "kind"), CASES)
def test_errors(status: int, detail: str, expected: int, kind: str) -> None:
    error = ANTHROPIC.write_error(ErrorView(http_status=status, message="m", detail=detail))
    assert (error.protocol, error.http_status, error.headers) == ("anthropic", expected, ())
    assert json.loads(error.body) == {"type": "error", "error": {"type": kind, "message": LONG.get(detail, "m")}}


@pytest.mark.parametrize("message", ["Prompt is too long: 5 > 4", "prompt is too long"])
def test_what_is_too_long_is_said_once(message: str) -> None:
    error = ANTHROPIC.write_error(ErrorView(http_status=400, message=message, detail="CONTEXT_LENGTH_EXCEEDED"))
    assert json.loads(error.body)["error"]["message"] == message


def test_hint_and_id() -> None:
    error = ANTHROPIC.write_error(
        ErrorView(http_status=429, message="m", detail="RATE_LIMITED", request_id="req_1", retry_after_seconds=37.4)
    )
    assert error.headers == (("request-id", "req_1"), ("retry-after", "38"))
    assert json.loads(error.body)["request_id"] == "req_1"
