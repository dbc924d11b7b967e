from __future__ import annotations

import json

import pytest

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.bridge import Bridge
from fluxrpc.protocols.registry import NATIVE
from fluxrpc.routing.commit import open_stream
from fluxrpc.routing.route import RouteLimits
from tests.support.translating import bridge_for, target_for


class Exchange:
    """Gives these chunks, then the end."""

    status = 200

    def __init__(self, *chunks: bytes) -> None:
        self.headers: dict[str, str] = {}
        self._chunks = list(chunks)
        self.left = ""

    async def next_chunk(self) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""

    async def read(self, max_bytes: int) -> bytes:
        return b"".join(self._chunks)

    def close(self) -> None:
        self.left = "at once"

    def finish(self) -> None:
        self.left = "when it is done"


def said(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return b"data: " + json.dumps({"model": "m", "choices": [choice]}).encode() + b"\n\n"


END = said("One") + said("").replace(b"null", b'"stop"')
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


DONE = b"data: [DONE]\n\n"


def bridge_with_stop() -> Bridge:
    """A caller of Cohere with a stop sequence, before a server that takes none."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}], "stop_sequences": ["END"]}
    bridge = bridge_for(Protocol.COHERE, body, target_for(Protocol.RESPONSES))
    bridge.wire(stream=True)
    return bridge


def grown(text: str) -> bytes:
    event = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


@pytest.mark.parametrize("chunks", [(grown("One END two"),), (grown("One"), grown(" END two"))])
async def test_a_provider_that_goes_on_behind_a_stop_sequence_is_left_at_once(chunks: tuple[bytes, ...]) -> None:
    exchange = Exchange(*chunks, grown("more"))
    stream = await open_stream(exchange, bridge_with_stop().open_stream(StreamOptions()), (), RouteLimits())
    frames = stream.take_first().frames
    while not stream.ended:
        frames += (await stream.next()).frames
    stream.close()
    assert exchange.left == "at once"
    assert b"two" not in frames
    assert b"message-end" in frames


@pytest.mark.parametrize(("chunks", "left"), [((said("One"),), "at once"), ((END + DONE,), "when it is done")])
async def test_a_provider_that_is_done_is_left_when_it_is_done(chunks: tuple[bytes, ...], left: str) -> None:
    exchange = Exchange(*chunks)
    watch = NATIVE[Protocol.OPENAI].watch(StreamOptions())
    stream = await open_stream(exchange, watch, (), RouteLimits())
    stream.close()
    assert exchange.left == left
