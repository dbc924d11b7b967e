from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.errors import Outcome, ProviderError
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.provider_error import MAX_BODY_BYTES
from fluxrpc.protocols.registry import NATIVE

OPENAI, ANTHROPIC, GEMINI, COHERE, RESPONSES = Protocol
NOW = 1_790_000_000.0


def read(protocol: Protocol, status: int, body: object = None, headers: dict[str, str] | None = None) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    error = NATIVE[protocol].read_error(status, headers or {}, raw, now=NOW)
    assert isinstance(error, ProviderError)
    return error


@pytest.mark.parametrize("protocol", list(Protocol))
@pytest.mark.parametrize(
    ("status", "outcome", "may_pass"),
    [
        (301, Outcome.MODEL, False),
        (400, Outcome.CALLER, False),
        (401, Outcome.CREDENTIAL, False),
        (402, Outcome.CREDENTIAL, False),
        (403, Outcome.MODEL, False),
        (404, Outcome.MODEL, False),
        (405, Outcome.CALLER, False),
        (408, Outcome.CALLER, True),
        (409, Outcome.CALLER, True),
        (413, Outcome.CALLER, False),
        (422, Outcome.CALLER, False),
        (429, Outcome.LIMITED, False),
        (499, Outcome.CALLER, False),
        (500, Outcome.MODEL, True),
        (501, Outcome.MODEL, False),
        (503, Outcome.MODEL, True),
        (524, Outcome.MODEL, True),
        (529, Outcome.MODEL, True),
        (204, Outcome.MODEL, False),
    ],
)
def test_the_status_alone(protocol: Protocol, status: int, outcome: Outcome, may_pass: bool) -> None:
    error = read(protocol, status, b"<html>")
    assert (error.outcome, error.retry_same_route) == (outcome, may_pass)
    assert error.native is not None
    assert error.native.body == b""


def _openai(code: str | None, message: str = "m", kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _anthropic(kind: str, message: str = "m", code: str | None = None) -> dict[str, Any]:
    details = {"details": {"error_code": code}} if code else {}
    return {"type": "error", "error": {"type": kind, "message": message, **details}}


def _gemini(status: str, message: str = "m", reason: str | None = None) -> dict[str, Any]:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
    return {"error": {"code": 400, "status": status, "message": message, "details": [*details, 7]}}


def _gemini_quota(quota_id: object) -> dict[str, Any]:
    body = _gemini("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.")
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    body["error"]["details"] = [{"@type": kind, "violations": [7, {"quotaId": quota_id}]}]
    return body


@pytest.mark.parametrize(
    ("protocol", "status", "body", "outcome", "detail"),
    [
        (OPENAI, 429, _openai("insufficient_quota"), Outcome.CREDENTIAL, "QUOTA_SPENT"),
        (OPENAI, 429, _openai("credit_balance_exhausted"), Outcome.CREDENTIAL, "QUOTA_SPENT"),
        (OPENAI, 429, _openai("rate_limit_exceeded"), Outcome.LIMITED, "RATE_LIMITED"),
        (OPENAI, 429, _openai("slow_down"), Outcome.LIMITED, "RATE_LIMITED"),
        (OPENAI, 402, _openai(None, "Insufficient Balance"), Outcome.CREDENTIAL, "QUOTA_SPENT"),
        (OPENAI, 403, _openai("unsupported_country_region_territory"), Outcome.MODEL, "FORBIDDEN"),
        (OPENAI, 403, _openai("ip_not_authorized"), Outcome.CREDENTIAL, "CREDENTIAL_REJECTED"),
        (RESPONSES, 403, _openai("ip_not_authorized"), Outcome.CREDENTIAL, "CREDENTIAL_REJECTED"),
        (COHERE, 403, {"message": "invalid api token"}, Outcome.CREDENTIAL, "CREDENTIAL_REJECTED"),
        (COHERE, 403, {"message": "no access"}, Outcome.MODEL, "FORBIDDEN"),
        (
            ANTHROPIC,
            400,
            _anthropic("invalid_request_error", "Output blocked by content filtering policy"),
            Outcome.CALLER,
            "CONTENT_REFUSED",
        ),
        (OPENAI, 403, _openai("invalid_api_key"), Outcome.CREDENTIAL, "CREDENTIAL_REJECTED"),
        (OPENAI, 403, _openai("model_forbidden"), Outcome.MODEL, "FORBIDDEN"),
        (OPENAI, 404, _openai("model_not_found"), Outcome.MODEL, "MODEL_NOT_FOUND"),
        (OPENAI, 400, _openai("model_not_found"), Outcome.MODEL, "MODEL_NOT_FOUND"),
        (OPENAI, 404, _openai(None, "No such File object: file-1"), Outcome.CALLER, "INVALID_REQUEST"),
        (OPENAI, 400, _openai("context_length_exceeded"), Outcome.CALLER, "CONTEXT_LENGTH_EXCEEDED"),
        (
            OPENAI,
            400,
            _openai(None, "This model's maximum context length is 8192 tokens."),
            Outcome.CALLER,
            "CONTEXT_LENGTH_EXCEEDED",
        ),
        (
            OPENAI,
            400,
            _openai(None, "the request exceeds the available context size, try increasing it"),
            Outcome.CALLER,
            "CONTEXT_LENGTH_EXCEEDED",
        ),
        (OPENAI, 400, _openai("content_policy_violation"), Outcome.CALLER, "CONTENT_REFUSED"),
        (OPENAI, 503, _openai("server_is_overloaded"), Outcome.MODEL, "PROVIDER_OVERLOADED"),
        (OPENAI, 500, {"message": "vllm", "code": 500, "object": "error"}, Outcome.MODEL, "PROVIDER_ERROR"),
        (OPENAI, 422, {"detail": [{"loc": ["body"]}]}, Outcome.CALLER, "INVALID_REQUEST"),
        (
            ANTHROPIC,
            400,
            _anthropic("invalid_request_error", "prompt is too long: 9"),
            Outcome.CALLER,
            "CONTEXT_LENGTH_EXCEEDED",
        ),
        (
            ANTHROPIC,
            400,
            _anthropic("invalid_request_error", "Your credit balance is too low to access the API"),
            Outcome.CREDENTIAL,
            "QUOTA_SPENT",
        ),
        (
            ANTHROPIC,
            400,
            _anthropic("invalid_request_error", "You have reached your specified API usage limits."),
            Outcome.CREDENTIAL,
            "QUOTA_SPENT",
        ),
        (ANTHROPIC, 402, _anthropic("billing_error"), Outcome.CREDENTIAL, "QUOTA_SPENT"),
        (
            ANTHROPIC,
            429,
            _anthropic("rate_limit_error", "m", "enforced_spend_limit_reached"),
            Outcome.CREDENTIAL,
            "QUOTA_SPENT",
        ),
        (ANTHROPIC, 429, _anthropic("rate_limit_error", "m", "ramp_limit_exceeded"), Outcome.LIMITED, "RATE_LIMITED"),
        (ANTHROPIC, 529, _anthropic("overloaded_error"), Outcome.MODEL, "PROVIDER_OVERLOADED"),
        (ANTHROPIC, 404, _anthropic("not_found_error", "model: claude-0"), Outcome.MODEL, "MODEL_NOT_FOUND"),
        (ANTHROPIC, 403, _anthropic("permission_error"), Outcome.MODEL, "FORBIDDEN"),
        (GEMINI, 400, _gemini("INVALID_ARGUMENT", "m", "API_KEY_INVALID"), Outcome.CREDENTIAL, "CREDENTIAL_REJECTED"),
        (GEMINI, 403, _gemini("PERMISSION_DENIED", "m", "SERVICE_DISABLED"), Outcome.CREDENTIAL, "CREDENTIAL_REJECTED"),
        (GEMINI, 403, _gemini("PERMISSION_DENIED"), Outcome.MODEL, "FORBIDDEN"),
        (
            GEMINI,
            400,
            _gemini("FAILED_PRECONDITION", "Gemini API free tier is not available in your country."),
            Outcome.CREDENTIAL,
            "QUOTA_SPENT",
        ),
        (GEMINI, 400, _gemini("FAILED_PRECONDITION", "other"), Outcome.CALLER, "INVALID_REQUEST"),
        (
            GEMINI,
            400,
            [_gemini("INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number")],
            Outcome.CALLER,
            "CONTEXT_LENGTH_EXCEEDED",
        ),
        (GEMINI, 429, _gemini("RESOURCE_EXHAUSTED"), Outcome.LIMITED, "RATE_LIMITED"),
        (GEMINI, 429, _gemini_quota("GenerateRequestsPerMinutePerProjectPerModel"), Outcome.LIMITED, "RATE_LIMITED"),
        (GEMINI, 429, _gemini_quota("GenerateRequestsPerDayPerProjectPerModel"), Outcome.CREDENTIAL, "QUOTA_SPENT"),
        (GEMINI, 429, _gemini_quota(7), Outcome.LIMITED, "RATE_LIMITED"),
        (GEMINI, 499, _gemini("CANCELLED"), Outcome.CALLER, "INVALID_REQUEST"),
        (GEMINI, 501, _gemini("UNIMPLEMENTED"), Outcome.MODEL, "PROVIDER_ERROR"),
        (COHERE, 498, {"message": "blocked"}, Outcome.CALLER, "CONTENT_REFUSED"),
        (COHERE, 400, {"message": "too many tokens: 9"}, Outcome.CALLER, "CONTEXT_LENGTH_EXCEEDED"),
        (COHERE, 429, {"message": "limited to 1000 API calls / month"}, Outcome.CREDENTIAL, "QUOTA_SPENT"),
        (COHERE, 429, {"message": "slow down"}, Outcome.LIMITED, "RATE_LIMITED"),
        (RESPONSES, 400, _openai("previous_response_not_found"), Outcome.CALLER, "INVALID_REQUEST"),
        (RESPONSES, 404, _openai("previous_response_not_found"), Outcome.CALLER, "INVALID_REQUEST"),
        (RESPONSES, 404, _openai(None, "Item with id 'rs_1' not found."), Outcome.CALLER, "INVALID_REQUEST"),
    ],
)
def test_words_decide_before_the_status(
    protocol: Protocol, status: int, body: object, outcome: Outcome, detail: str
) -> None:
    error = read(protocol, status, body)
    assert (error.outcome, error.detail) == (outcome, detail)
    assert error.context_length is (detail == "CONTEXT_LENGTH_EXCEEDED")
    assert error.content_refused is (detail == "CONTENT_REFUSED")


def test_what_is_kept_of_an_error() -> None:
    body = json.dumps(_openai("invalid_json", "x" * 5000)).encode()
    error = read(OPENAI, 400, body, {"x-request-id": "r1", "set-cookie": "s", "x-ratelimit-limit-tokens": "9"})
    assert error.native is not None
    assert error.native.protocol == "openai"
    assert error.native.http_status == 400
    assert error.native.body == body
    assert error.native.headers == (("x-request-id", "r1"), ("x-ratelimit-limit-tokens", "9"))
    assert error.provider_code == "invalid_json"
    assert error.provider_message == "x" * 2000
    assert error.safe_message == "INVALID_REQUEST"


def test_a_huge_body_is_classified_but_not_kept() -> None:
    error = read(OPENAI, 400, _openai("context_length_exceeded", "x" * MAX_BODY_BYTES))
    assert error.context_length
    assert error.native is not None
    assert error.native.body == b""


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT"}, 30.0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT", "date": "Mon, 21 Sep 2026 14:13:40 GMT"}, 10.0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 -0000"}, 30.0),
        ({"retry-after": "Mon, 21 Sep 2020 00:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"x-ratelimit-reset-requests": "12ms"}, 0.012),
        ({"x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "1h2m3.5s junk"}, None),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-tokens": "50",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            2.0,
        ),
        ({"x-ratelimit-remaining-requests": "9999", "x-ratelimit-reset-requests": "6ms"}, None),
        ({"x-ratelimit-reset": str(int(NOW) + 9)}, 9.0),
        ({"x-ratelimit-reset": str((int(NOW) + 9) * 1000)}, 9.0),
        ({"anthropic-ratelimit-tokens-reset": "2026-09-21T14:14:00Z"}, 40.0),
    ],
)
def test_retry_hints(headers: dict[str, str], seconds: float | None) -> None:
    error = read(OPENAI, 429, None, headers)
    assert error.retry_after_seconds == pytest.approx(seconds)
    assert error.retry_same_route is (seconds is not None)


def test_resets_speak_only_of_limits() -> None:
    assert read(OPENAI, 500, None, {"x-ratelimit-reset-tokens": "6m0s"}).retry_after_seconds is None
    assert read(OPENAI, 503, None, {"retry-after": "2"}).retry_after_seconds == 2.0


def test_the_delay_in_a_gemini_body() -> None:
    body = {"error": {"code": 429, "details": [7, {"retryDelay": 3}, {"@type": "RetryInfo", "retryDelay": "37.5s"}]}}
    assert read(GEMINI, 429, body).retry_after_seconds == 37.5
    assert read(GEMINI, 429, body, {"retry-after": "1"}).retry_after_seconds == 1.0


def test_the_provider_says_whether_to_try_again() -> None:
    assert not read(OPENAI, 500, None, {"x-should-retry": "false"}).retry_same_route
    assert read(OPENAI, 500, None, {"x-should-retry": "true"}).retry_same_route


@pytest.mark.parametrize("body", [b"[]", b"7", b'"x"', b"{}", b'{"error":[]}', b'{"error":{"code":7,"type":""}}'])
def test_bodies_that_say_nothing(body: bytes) -> None:
    error = read(OPENAI, 500, body)
    assert (error.provider_code, error.provider_message) == ("", "")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500, 503, 529])
@pytest.mark.parametrize("protocol", list(Protocol))
def test_our_own_error_bodies_read_back(protocol: Protocol, status: int) -> None:
    for code in ("PROVIDER_FAILED", ""):
        body = NATIVE[protocol].write_error(status, "no route is left", code)
        assert read(protocol, status, body).provider_message == "no route is left"


@pytest.mark.parametrize(
    ("protocol", "body"),
    [
        (OPENAI, {"error": {"message": "m", "type": "server_error", "param": None, "code": "X"}}),
        (
            ANTHROPIC,
            {"type": "error", "error": {"type": "overloaded_error", "message": "m", "details": {"error_code": "X"}}},
        ),
        (
            GEMINI,
            {
                "error": {
                    "code": 503,
                    "message": "m",
                    "status": "UNAVAILABLE",
                    "details": [
                        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "X", "domain": "fluxrpc"}
                    ],
                }
            },
        ),
        (COHERE, {"message": "m"}),
        (RESPONSES, {"error": {"message": "m", "type": "server_error", "param": None, "code": "X"}}),
    ],
)
def test_the_form_of_our_own_error_bodies(protocol: Protocol, body: dict[str, Any]) -> None:
    assert json.loads(NATIVE[protocol].write_error(503, "m", "X")) == body
