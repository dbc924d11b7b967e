"""What is fuzzed: the readers of requests, answers, streams and errors of each protocol, and the event decoder.

A target takes any bytes. What a reader may raise is caught; what it reads must be writable by every protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fluxrpc.errors import AnswerFault, InvalidRequest, NotExpressible, ProviderError
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.bridge import open_bridge, read_request
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.registry import NATIVE
from fluxrpc.sse import Decoder

MAX_EVENT_BYTES = 64 * 1024
_CASES = Path(__file__).parents[1] / "golden" / "translation_cases.jsonl"
_HELLO = {
    Protocol.OPENAI: b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}',
    Protocol.ANTHROPIC: b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}',
    Protocol.GEMINI: b'{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}',
    Protocol.COHERE: b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}',
    Protocol.RESPONSES: b'{"model":"m","input":"Hi"}',
}


@dataclass(frozen=True, slots=True)
class FuzzTarget:
    """A function of any bytes, and inputs to begin with."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


def _cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in _CASES.read_text().split("\n") if line]


def _others(protocol: Protocol) -> Iterator[Protocol]:
    return (other for other in Protocol if other is not protocol)


def _request(protocol: Protocol) -> FuzzTarget:
    def run(data: bytes) -> None:
        try:
            request = read_request(protocol, data)
        except InvalidRequest:
            return
        for other in _others(protocol):
            with suppress(InvalidRequest, NotExpressible):
                open_bridge(request, Target(protocol=other, model="m")).wire(stream=False)

    def seeds() -> list[bytes]:
        found = [
            json.dumps(case["input"]["request"]).encode()
            for case in _cases()
            if case["direction"] == "request" and case["caller_protocol"] == protocol
        ]
        return [_HELLO[protocol], *found]

    return FuzzTarget(run, seeds)


def _answer(protocol: Protocol) -> FuzzTarget:
    def run(data: bytes) -> None:
        for other in _others(protocol):
            way = open_bridge(read_request(other, _HELLO[other]), Target(protocol=protocol, model="m"))
            way.wire(stream=False)
            try:
                way.read_answer(data)
            except (AnswerFault, ProviderError):
                return

    def seeds() -> list[bytes]:
        return [
            json.dumps(case["input"]["upstream_response"]).encode()
            for case in _cases()
            if case["direction"] == "response" and case["upstream_protocol"] == protocol
        ]

    return FuzzTarget(run, seeds)


def _stream(protocol: Protocol) -> FuzzTarget:
    def run(data: bytes) -> None:
        """The first byte says where the bytes are cut in two."""
        cut, text = (data[0], data[1:]) if data else (0, b"")
        for other in _others(protocol):
            way = open_bridge(read_request(other, _HELLO[other]), Target(protocol=protocol, model="m"))
            way.wire(stream=True)
            stream = way.open_stream(StreamOptions(max_event_bytes=MAX_EVENT_BYTES))
            try:
                for piece in (text[:cut], text[cut:]):
                    if piece:
                        stream.feed(piece)
                stream.close()
            except AnswerFault:
                return

    def seeds() -> list[bytes]:
        return [
            b"\x10" + b"".join(_frame(event) for event in case["input"]["upstream_stream"])
            for case in _cases()
            if case["direction"] == "stream" and case["upstream_protocol"] == protocol
        ]

    return FuzzTarget(run, seeds)


def _frame(event: dict[str, Any]) -> bytes:
    if "bytes_hex" in event:
        return bytes.fromhex(event["bytes_hex"])
    if "raw" in event:
        return str(event["raw"]).encode()
    data = event["data"] if isinstance(event["data"], str) else json.dumps(event["data"])
    head = f"event: {event['event']}\n" if "event" in event else ""
    return f"{head}data: {data}\n\n".encode()


def _error(data: bytes) -> None:
    status = 400 + (data[0] if data else 0)
    for protocol in Protocol:
        NATIVE[protocol].read_error(status, {}, data[1:], now=0.0)


def _events(data: bytes) -> None:
    """However the bytes are cut, the frames are the same."""
    if not data:
        return
    whole, cut = Decoder(MAX_EVENT_BYTES), Decoder(MAX_EVENT_BYTES)
    size = data[0] % 16 + 1
    try:
        at_once = [frame.data for frame in whole.feed(data[1:])]
        pieces = [frame.data for at in range(1, len(data), size) for frame in cut.feed(data[at : at + size])]
    except AnswerFault:
        return
    assert at_once == pieces


TARGETS: dict[str, FuzzTarget] = {
    **{f"request-{protocol}": _request(protocol) for protocol in Protocol},
    **{f"answer-{protocol}": _answer(protocol) for protocol in Protocol},
    **{f"stream-{protocol}": _stream(protocol) for protocol in Protocol},
    "error": FuzzTarget(_error, lambda: [b'\x04{"error":{"message":"no","type":"invalid_request_error"}}']),
    "events": FuzzTarget(_events, lambda: [b'\x03data: {"a":1}\n\n: c\n\nevent: x\r\ndata: y\r\n\r\n']),
}
"""Every target by its name."""
