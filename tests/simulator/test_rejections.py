"""How each protocol says no: by validation, by name, by script; with its own body, words and hints."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from fluxrpc.simulator import Fault, Simulator
from fluxrpc.simulator.script import FaultKind
from tests.simulator.raw import PROTOCOLS, ask, once, post, request_bytes

REQUIRED = {
    "openai": ("model", "messages"),
    "anthropic": ("model", "messages", "max_tokens"),
    "gemini": ("contents",),
    "cohere": ("model", "messages"),
    "responses": ("model", "input"),
}
PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
    "cohere": "/v2/chat",
    "responses": "/v1/responses",
}
STATUS_OF_KIND: dict[FaultKind, dict[str, int]] = {
    "rate_limit": {},
    "quota": {},
    "bad_key": {},
    "forbidden": {},
    "model_not_found": {},
    "bad_request": {},
    "too_large": {},
    "unprocessable": {},
    "context_length": {},
    "content_filter": {"gemini": 200, "cohere": 498},
    "server_error": {},
    "overloaded": {"anthropic": 529},
}
USUAL = dict(zip(STATUS_OF_KIND, (429, 429, 401, 403, 404, 400, 413, 422, 400, 400, 500, 503), strict=True))


def is_error_of(protocol: str, body: Any, status: int) -> bool:
    match protocol:
        case "anthropic":
            return body["type"] == "error" and set(body["error"]) >= {"type", "message"}
        case "gemini":
            return bool(body["error"]["code"] == status and body["error"]["status"].isupper())
        case "cohere":
            return set(body) == {"id", "message"}
        case _:
            return set(body["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_every_kind_of_problem_in_the_words_of_the_protocol(sim: Simulator, protocol: str) -> None:
    for kind, special in STATUS_OF_KIND.items():
        sim.script("m", Fault(kind))
        for stream in (False, True):
            answer = await ask(sim, protocol, "m", stream=stream)
            assert answer.status == special.get(protocol, USUAL[kind]), kind
            assert answer.status == 200 or is_error_of(protocol, answer.json, answer.status), kind


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_bare_status_has_a_body_of_the_protocol(sim: Simulator, protocol: str) -> None:
    for status in (400, 402, 408, 409, 418, 500, 502, 504, 529):
        answer = await ask(sim, protocol, f"sim-{status}")
        assert answer.status == status
        assert is_error_of(protocol, answer.json, status)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_required_fields(sim: Simulator, protocol: str) -> None:
    for name in REQUIRED[protocol]:
        without: Any = {name: None}
        answer = await ask(sim, protocol, "m", **without)
        assert answer.status == 400
        assert is_error_of(protocol, answer.json, 400)
        assert name in answer.body.decode()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_keys(sim: Simulator, protocol: str) -> None:
    path = PATHS[protocol]
    assert (await once(sim, post(path, b"{}"))).status == 401
    header = "x-goog-api-key: {}" if protocol == "gemini" else "authorization: Bearer {}"
    for key, status in (("bad-key", 401), ("spent-key", 429), ("any", 400)):
        answer = await once(sim, post(path, b"{}", header.format(key)))
        assert (answer.status, is_error_of(protocol, answer.json, status)) == (status, True)


async def test_other_places_for_a_key(sim: Simulator) -> None:
    body = request_bytes("gemini", "m").partition(b"\r\n\r\n")[2]
    assert (await once(sim, post("/v1beta/models/m:generateContent?key=k", body))).status == 200
    body = request_bytes("anthropic", "m").partition(b"\r\n\r\n")[2]
    version = "anthropic-version: 2026-10-21"
    assert (await once(sim, post("/v1/messages", body, "authorization: Bearer k", version))).status == 200
    assert (await once(sim, post("/v1/messages", body, "x-api-key: k"))).status == 400


async def test_newest_anthropic_version_refuses_sampling(sim: Simulator) -> None:
    body = request_bytes("anthropic", "m", temperature=1).partition(b"\r\n\r\n")[2]
    for version, status in (("2026-10-21", 400), ("2023-06-01", 200)):
        answer = await once(sim, post("/v1/messages", body, "x-api-key: k", f"anthropic-version: {version}"))
        assert answer.status == status


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("body", [b"{", b"[]", b'{"model": 7, "messages": [7], "input": [7], "contents": [7]}', b""])
async def test_rubbish_is_a_400(sim: Simulator, protocol: str, body: bytes) -> None:
    headers = ("authorization: Bearer k", "x-goog-api-key: k", "anthropic-version: 2023-06-01")
    answer = await once(sim, post(PATHS[protocol], body, *headers))
    assert answer.status == 400
    assert is_error_of(protocol, answer.json, 400)


async def test_paths(sim: Simulator) -> None:
    body = request_bytes("openai", "m").partition(b"\r\n\r\n")[2]
    for path, status in (
        ("/v1/chat/completions", 200),
        ("/chat/completions", 200),
        ("/vendor/v1/chat/completions", 200),
        ("/v1/v1/chat/completions", 404),
        ("/v2/chat/completions", 404),
        ("/", 404),
    ):
        assert (await once(sim, post(path, body, "authorization: Bearer k"))).status == status, path
    assert (await once(sim, b"GET /v1/chat/completions HTTP/1.1\r\nhost: sim\r\n\r\n")).status == 404
    assert (await once(sim, b"nonsense\r\n\r\n")).status == 400


async def test_hints_in_headers(sim: Simulator) -> None:
    sim.script("m", Fault("rate_limit", retry_after_seconds=2, headers={"X-Extra": "1"}))
    answer = await ask(sim, "openai", "m")
    assert (answer.headers["retry-after"], answer.headers["x-extra"]) == ("2", "1")
    answer = await ask(sim, "openai", "sim-429-retry-ms-50")
    assert answer.headers["retry-after-ms"] == "50"
    answer = await ask(sim, "cohere", "sim-429-retry-date-60")
    ahead = parsedate_to_datetime(answer.headers["retry-after"]) - datetime.now(UTC)
    assert 55 < ahead.total_seconds() <= 60
    answer = await ask(sim, "responses", "sim-429-reset-3")
    assert answer.headers["x-ratelimit-reset-requests"] == "3s"
    sim.script("m", Fault("rate_limit", ratelimit_reset_seconds=0.012))
    assert (await ask(sim, "openai", "m")).headers["x-ratelimit-reset-requests"] == "12ms"
    reset = (await ask(sim, "anthropic", "sim-429-reset-30")).headers["anthropic-ratelimit-requests-reset"]
    assert 25 < (datetime.fromisoformat(reset) - datetime.now(UTC)).total_seconds() <= 30


async def test_words_that_tell_problems_apart(sim: Simulator) -> None:
    assert (await ask(sim, "openai", "sim-quota")).json["error"]["code"] == "insufficient_quota"
    details = (await ask(sim, "anthropic", "sim-quota")).json["error"]["details"]
    assert details == {"error_code": "enforced_spend_limit_reached"}
    details = (await ask(sim, "gemini", "sim-quota")).json["error"]["details"]
    assert details[0]["@type"].endswith("QuotaFailure")
    assert "Trial key" in (await ask(sim, "cohere", "sim-quota")).json["message"]
    assert (await ask(sim, "openai", "sim-context-length")).json["error"]["code"] == "context_length_exceeded"
    rejected = (await ask(sim, "gemini", "sim-bad-key-400")).json["error"]
    assert (rejected["status"], rejected["details"][0]["reason"]) == ("INVALID_ARGUMENT", "API_KEY_INVALID")
    sim.script("m", Fault("status", status=503, message="Busy.", code="slow_down"))
    assert (await ask(sim, "openai", "m")).json["error"] | {"param": None} == {
        "message": "Busy.",
        "type": "service_unavailable_error",
        "param": None,
        "code": "slow_down",
    }


async def test_gemini_without_sse_is_an_array(sim: Simulator) -> None:
    path = "/v1beta/models/{}:streamGenerateContent"
    body = request_bytes("gemini", "m").partition(b"\r\n\r\n")[2]
    whole = await once(sim, post(path.format("echo"), body, "x-goog-api-key: k"))
    texts = [frame["candidates"][0]["content"]["parts"][0]["text"] for frame in whole.json]
    assert texts == ["hello", " dear", " model", ""]
    refused = await once(sim, post(path.format("sim-503"), body, "x-goog-api-key: k"))
    assert refused.json[0]["error"]["status"] == "UNAVAILABLE"
