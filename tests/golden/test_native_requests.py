"""Golden bytes: what becomes of a caller's native body. Nothing may change but what must."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fluxrpc.protocols.base import Protocol, WireOptions
from fluxrpc.protocols.registry import NATIVE

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "native_requests.jsonl").read_text(encoding="utf-8").splitlines()
]
PATHS = {
    (Protocol.OPENAI, False): "/v1/chat/completions",
    (Protocol.OPENAI, True): "/v1/chat/completions",
    (Protocol.ANTHROPIC, False): "/v1/messages",
    (Protocol.ANTHROPIC, True): "/v1/messages",
    (Protocol.GEMINI, False): "/v1beta/models/gpt-5-mini:generateContent",
    (Protocol.GEMINI, True): "/v1beta/models/gpt-5-mini:streamGenerateContent?alt=sse",
    (Protocol.COHERE, False): "/v2/chat",
    (Protocol.COHERE, True): "/v2/chat",
    (Protocol.RESPONSES, False): "/v1/responses",
    (Protocol.RESPONSES, True): "/v1/responses",
}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_only_what_must_change_changes(case: dict[str, Any]) -> None:
    protocol = Protocol(case["protocol"])
    codec = NATIVE[protocol]
    body = case["body"].encode()
    options = WireOptions(force_usage=case.get("force_usage", True))

    wire = codec.write_wire(codec.read_head(body), body, model="gpt-5-mini", stream=case["stream"], options=options)

    assert wire.body.decode() == case["expected"]
    json.loads(wire.body)
    assert wire.path == PATHS[protocol, case["stream"]]
    if case["body"] == case["expected"]:
        assert wire.body is body


def test_every_protocol_has_vectors() -> None:
    assert {Protocol(case["protocol"]) for case in CASES} == set(NATIVE)
