from __future__ import annotations

import json

import pytest

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.registry import NATIVE
from fluxrpc.routing.commit import open_stream
from fluxrpc.routing.route import RouteLimits


class Exchange:
    """Gives these chunks, then the end."""

    status = 200

    def __init__(self, *chunks: bytes) -> None:
        self.headers: dict[str, str] = {}
        self._chunks = list(chunks)

    async def next_chunk(self) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""

    async def read(self, max_bytes: int) -> bytes:
        return b"".join(self._chunks)

    def close(self) -> None: ...

    def finish(self) -> None: ...


def said(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return b"data: " + json.dumps({"model": "m", "choices": [choice]}).encode() + b"\n\n"


ERROR = b'data: {"error": {"message": "on fire", "type": "server_error"}}\n\n'


async def test_what_stands_before_a_fault_in_the_same_read_is_delivered() -> None:
    exchange = Exchange(said("One"), said("two") + ERROR)
    watch = NATIVE[Protocol.OPENAI].watch(StreamOptions())
    stream = await open_stream(exchange, watch, (), RouteLimits())
    assert stream.take_first().frames == said("One")
    with pytest.raises(RuntimeError):
        stream.take_first()
    assert (await stream.next()).frames == said("two")
    assert not stream.ended
    for _ in range(2):
        with pytest.raises(ProviderError, match="on fire"):
            await stream.next()


async def test_before_anything_was_delivered_a_fault_in_the_same_read_fails_over() -> None:
    watch = NATIVE[Protocol.OPENAI].watch(StreamOptions())
    with pytest.raises(ProviderError, match="on fire"):
        await open_stream(Exchange(said("One") + ERROR), watch, (), RouteLimits())
