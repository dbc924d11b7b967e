"""Faults that gateways are known for, as small inputs with right outputs: requests, answers, streams and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fluxrpc.errors import AttemptError, FluxError, GrpcCode, ProviderError
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import Bridge
from fluxrpc.routing.conclusion import conclude
from tests.support.assembled import RULES, assembled_anthropic, assembled_openai, events_in, openai_choices
from tests.support.case_checks import Produced, at_path, failed_checks
from tests.support.json_match import mismatches
from tests.support.translating import HELLO, answered, bridge_for, sse, streamed, target_for

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "translation_cases.jsonl").read_text().split("\n") if line
]
ASSEMBLE = {Protocol.OPENAI: assembled_openai, Protocol.ANTHROPIC: assembled_anthropic}
CONTENT_OF_NOTHING = (None, "")


def _cases(direction: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["direction"] == direction]


def _way(case: dict[str, Any], request: dict[str, Any] | None = None) -> Bridge:
    caller = Protocol(case["caller_protocol"])
    body = HELLO[caller] if request is None else request
    if caller is Protocol.OPENAI and case["direction"] == "stream":
        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    return bridge_for(caller, body, target_for(Protocol(case["upstream_protocol"])))


@pytest.mark.parametrize("case", _cases("request"))
def test_request(case: dict[str, Any]) -> None:
    expected = case["expected"]
    way = _way(case, case["input"]["request"])
    stream = bool(case["input"]["request"].get("stream"))
    body = way.wire(stream=stream).body
    written = json.loads(body)
    assert mismatches(expected.get("upstream_request", {}), written) == []
    assert failed_checks(expected.get("checks", []), Produced(value=written, text=body.decode())) == []
    for check in expected.get("checks", []):
        if check["op"] == "deterministic":
            assert _way(case, case["input"]["request"]).wire(stream=stream).body == body
        if check["op"] == "roundtrip_name":
            _assert_name_comes_back(case, way, check, written)


def _assert_name_comes_back(case: dict[str, Any], way: Bridge, check: dict[str, Any], written: Any) -> None:
    """A call of the tool under the name that was written reaches the caller under its own name for it."""
    [name] = at_path(written, check["upstream_response_uses"])
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert case["upstream_protocol"] == "openai"
    answer = {
        "id": "a", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }  # fmt: skip
    got = answered(way, answer)
    assert at_path(got, "candidates[0].content.parts[0].functionCall.name") == [check["client_sees"]]


@pytest.mark.parametrize("case", _cases("response"))
def test_response(case: dict[str, Any]) -> None:
    expected = case["expected"]
    got = answered(_way(case), case["input"]["upstream_response"])
    assert mismatches(expected.get("client_response", {}), got) == []
    assert failed_checks(expected.get("checks", []), Produced(value=got, text=json.dumps(got))) == []


@pytest.mark.parametrize("pieces", [0, 1, 7], ids=["whole", "bytes", "sevens"])
@pytest.mark.parametrize("case", _cases("stream"))
def test_stream(case: dict[str, Any], pieces: int) -> None:
    expected = case["expected"]
    chunks = [sse(event) for event in case["input"]["upstream_stream"]]
    if pieces:
        text = b"".join(chunks)
        chunks = [text[at : at + pieces] for at in range(0, len(text), pieces)]
    frames, error = streamed(_way(case), chunks)
    events = events_in(frames)
    _assert_ended(case, error)
    assert [rule for rule in expected.get("stream_rules", []) if not RULES[rule](events)] == []
    assert failed_checks(expected.get("checks", []), Produced(value=events, text=frames.decode())) == []
    if "partial_content" in expected:
        assert assembled_openai(events)["content"] == expected["partial_content"]
    for index, choice in expected.get("assembled_by_choice", {}).items():
        assert mismatches(choice, openai_choices(events)[int(index)]) == []
    if "assembled" in expected:
        _assert_assembled(case, events)


def _assert_ended(case: dict[str, Any], error: AttemptError | None) -> None:
    expected = case["expected"]
    if expected.get("status", "OK") == "OK":
        assert error is None
        return
    assert error is not None
    assert _concluded(error).code is GrpcCode[expected["status"]]
    for check in expected["checks"]:
        if check["op"] == "error_mentions":
            assert check["value"] in str(error)


def _assert_assembled(case: dict[str, Any], events: list[Any]) -> None:
    expected = case["expected"]
    got = ASSEMBLE[Protocol(case["caller_protocol"])](events)
    pattern = dict(expected["assembled"])
    if "content" in pattern and pattern["content"] in CONTENT_OF_NOTHING:
        assert got["content"] in CONTENT_OF_NOTHING
        del pattern["content"]
    if "tool_indexes" in expected:
        pattern["tool_indexes"] = expected["tool_indexes"]
    if "tool_calls" in pattern and not pattern["tool_calls"]:
        pattern["tool_calls"] = {"$oneOf": [[], {"$absent": True}]}
    assert mismatches(pattern, got) == []


def _concluded(error: AttemptError) -> FluxError:
    return conclude([error], attempts=[], shut_by=frozenset(), retry_after_seconds=None)


def _error_case(case: dict[str, Any], caller: Protocol, upstream: Protocol) -> ProviderError:
    given = case["input"]
    body = given["upstream_raw"] if "upstream_raw" in given else json.dumps(given["upstream_response"])
    way = bridge_for(caller, HELLO[caller], target_for(upstream))
    error = way.read_error(given["upstream_status"], given.get("upstream_headers", {}), body.encode(), now=0.0)
    assert isinstance(error, ProviderError)
    return error


def _callers(case: dict[str, Any]) -> list[Protocol]:
    if case["input"].get("client_protocol"):
        return [Protocol.ANTHROPIC]
    return list(Protocol) if case["caller_protocol"] == "any" else [Protocol(case["caller_protocol"])]


@pytest.mark.parametrize("case", _cases("error"))
def test_error(case: dict[str, Any]) -> None:
    expected = case["expected"]
    upstreams = list(Protocol) if case["upstream_protocol"] == "any" else [Protocol(case["upstream_protocol"])]
    for caller in _callers(case):
        for upstream in upstreams:
            error = _error_case(case, caller, upstream)
            if expected.get("served_by"):
                assert error.outcome.value == "credential"  # another account may serve it, and this one is shut
                continue
            concluded = _concluded(error)
            assert concluded.code is GrpcCode[expected["status"]]
            assert error.retry_same_route is expected.get("retryable", error.retry_same_route)
            native = error.native
            assert native is not None
            assert native.protocol == caller
            assert mismatches(expected.get("client_error", {}), json.loads(native.body or b"{}")) == []
            for check in expected.get("checks", []):
                if check["op"] == "error_mentions":
                    assert check["value"] in f"{native.http_status} {native.body.decode()}"
                if check["op"] == "max_error_len":
                    assert len(native.body) <= check["value"]
                if check["op"] == "trailing_metadata_or_detail":
                    assert error.retry_after_seconds == float(check["value"])
