"""Translations without a server: one request from a caller's protocol to a target and its answer back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fluxrpc.errors import AttemptError
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.bridge import Bridge, CallerRequest, open_bridge, read_request, translating_bridge
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.gates import gates_of
from fluxrpc.v1.message_pb2 import MessageRequest

NOW = 1_790_000_000
MODELS = {
    Protocol.OPENAI: "gpt-x",
    Protocol.ANTHROPIC: "claude-haiku-4-5",
    Protocol.GEMINI: "gemini-2.5-flash",
    Protocol.COHERE: "command-a-03-2025",
    Protocol.RESPONSES: "gpt-x",
}
"""A model of each protocol under few gates."""
HELLO: dict[Protocol, dict[str, Any]] = {
    Protocol.OPENAI: {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    Protocol.ANTHROPIC: {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]},
    Protocol.GEMINI: {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    Protocol.COHERE: {"model": "m", "stream": False, "messages": [{"role": "user", "content": "Hi"}]},
    Protocol.RESPONSES: {"model": "m", "input": "Hi"},
}
"""The smallest request of each protocol."""


def target_for(protocol: Protocol, model: str = "", *, version: str = "", dialect: str = "") -> Target:
    """A model of that protocol, with the gates that it falls under."""
    model = model or MODELS[protocol]
    gates = gates_of(protocol, model, version)
    return Target(protocol=protocol, model=model, gates=gates, version=version, dialect=dialect, service="svc")


def bridge_for(
    caller: Protocol | None, body: dict[str, Any] | bytes | MessageRequest, target: Target, *, strict: bool = False
) -> Bridge:
    """The way of a request to a target. Equal protocols are translated as well, as `fluxrpc translate` does."""
    if isinstance(body, MessageRequest):
        return open_bridge(CallerRequest(message=body), target, strict=strict, now=NOW)
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert caller is not None
    request = read_request(caller, text)
    if caller is not target.protocol:
        return open_bridge(request, target, strict=strict, now=NOW)
    return translating_bridge(request, target, strict=strict, now=NOW)


def written(bridge: Bridge, *, stream: bool = False) -> Any:
    """The body that goes to the provider, decoded."""
    return json.loads(bridge.wire(stream=stream).body)


def answered(bridge: Bridge, answer: dict[str, Any] | bytes) -> Any:
    """A provider's whole answer as the caller gets it, decoded."""
    bridge.wire(stream=False)
    body = bridge.read_answer(answer if isinstance(answer, bytes) else json.dumps(answer).encode()).body
    return json.loads(body)


def streamed(bridge: Bridge, chunks: Iterable[bytes]) -> tuple[bytes, AttemptError | None]:
    """A provider's stream as the caller gets it, and the error that ended it."""
    bridge.wire(stream=True)
    stream = bridge.open_stream(StreamOptions())
    frames = b""
    for chunk in chunks:
        batch = stream.feed(chunk)
        frames += batch.frames
        if batch.error is not None:
            return frames, batch.error
        if batch.ended:
            return frames, None
    batch = stream.close()
    return frames + batch.frames, batch.error


def sse(event: dict[str, Any]) -> bytes:
    """A frame written as a case gives it: `event` and `data`, or `raw` text, or `bytes_hex`."""
    if "bytes_hex" in event:
        return bytes.fromhex(event["bytes_hex"])
    if "raw" in event:
        return str(event["raw"]).encode()
    data = event["data"]
    text = data.removeprefix("$RAWJSON:") if isinstance(data, str) else json.dumps(data)
    head = f"event: {event['event']}\n" if "event" in event else ""
    return f"{head}data: {text}\n\n".encode()
