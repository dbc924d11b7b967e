"""Errors of other protocols in the words of OpenAI Chat Completions."""

from __future__ import annotations

import json

import pytest

from fluxrpc.protocols.base import ErrorView
from tests.unit.protocols.openai.chat_ways import OPENAI

INVALID = "invalid_request_error"
OVERLOADED = (503, "service_unavailable_error", "server_is_overloaded")
QUOTA = (429, "insufficient_quota", "insufficient_quota")


@pytest.mark.parametrize(
    ("status", "detail", "expected"),
    [
        (529, "PROVIDER_OVERLOADED", OVERLOADED),
        (529, "", OVERLOADED),
        (503, "PROVIDER_ERROR", OVERLOADED),
        (400, "CONTEXT_LENGTH_EXCEEDED", (400, INVALID, "context_length_exceeded")),
        (400, "CONTENT_REFUSED", (400, INVALID, "content_policy_violation")),
        (498, "INVALID_REQUEST", (400, INVALID, "content_policy_violation")),
        (402, "QUOTA_SPENT", QUOTA),
        (402, "", QUOTA),
        (429, "RATE_LIMITED", (429, "rate_limit_error", "rate_limit_exceeded")),
        (400, "CREDENTIAL_REJECTED", (401, INVALID, "invalid_api_key")),
        (404, "MODEL_NOT_FOUND", (404, INVALID, "model_not_found")),
        (400, "INVALID_REQUEST", (400, INVALID, None)),
        (499, "", (499, INVALID, None)),
        (422, "INVALID_REQUEST", (422, INVALID, None)),
        (502, "PROVIDER_ERROR", (502, "server_error", None)),
        (200, "PROVIDER_ERROR", (500, "server_error", None)),
    ],
)
def test_errors(status: int, detail: str, expected: tuple[int, str, str | None]) -> None:
    written = OPENAI.write_error(ErrorView(http_status=status, message="m", detail=detail, code="x", param="p"))
    error = json.loads(written.body)["error"]
    assert (written.http_status, error["type"], error["code"]) == expected
    assert (error["message"], error["param"], written.protocol) == ("m", "p", "openai")


@pytest.mark.parametrize(
    ("view", "headers"),
    [
        (ErrorView(http_status=429, message="m", retry_after_seconds=37.4, request_id="r"),
         (("x-request-id", "r"), ("retry-after", "38"))),
        (ErrorView(http_status=402, message="m", retry_after_seconds=1), (("x-should-retry", "false"),)),
        (ErrorView(http_status=400, message="m"), ()),
    ],
)  # fmt: skip
def test_headers(view: ErrorView, headers: tuple[tuple[str, str], ...]) -> None:
    assert OPENAI.write_error(view).headers == headers
