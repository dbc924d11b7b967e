"""What translation costs: each pair of protocols, a whole call and an event of a stream, over passing bytes through.

In this process, without sockets. The bodies of the other protocols are made of one OpenAI Chat call by the translators
themselves; every figure is the greatest of all pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations

import msgspec

from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.bridge import Bridge, open_bridge, read_request
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.gates import gates_of
from tests.bench.gateway import PROMPT_CHARACTERS
from tests.bench.processes import BenchError

CALLS = 100
EVENTS = 500
MICROSECONDS = 1_000_000
_ASKED = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "You are the benchmark."},
        {"role": "user", "content": "x" * PROMPT_CHARACTERS},
    ],
    "temperature": 0.5,
    "max_tokens": 300,
    "stream_options": {"include_usage": True},
    "stream": True,
}
_USAGE = {"prompt_tokens": 500, "completion_tokens": 60, "total_tokens": 560}
_ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_790_000_000,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "word " * 60},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": _USAGE,
}
Timer = Callable[[Callable[[], object]], float]


def _target(protocol: Protocol) -> Target:
    return Target(protocol=protocol, model="m", gates=gates_of(protocol, "m"))


def _way(caller: Protocol, target: Protocol, body: bytes) -> Bridge:
    return open_bridge(read_request(caller, body), _target(target), now=1_790_000_000)


def _stream() -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "m"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": "word "} for _ in range(EVENTS))]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({**head, "choices": [], "usage": _USAGE})
    return b"".join(b"data: " + msgspec.json.encode(chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _frames(stream: bytes) -> list[bytes]:
    return [frame + b"\n\n" for frame in stream.split(b"\n\n")[:-1]]


class Samples:
    """One call in each protocol: its request, its answer, its stream as single frames."""

    def __init__(self) -> None:
        asked = msgspec.json.encode(_ASKED)
        self.requests = {Protocol.OPENAI: asked}
        self.answers = {Protocol.OPENAI: msgspec.json.encode(_ANSWER)}
        self.streams = {Protocol.OPENAI: _frames(_stream())}
        for protocol in Protocol:
            if protocol is Protocol.OPENAI:
                continue
            self.requests[protocol] = _way(Protocol.OPENAI, protocol, asked).wire(stream=True).body
            back = _way(protocol, Protocol.OPENAI, self.requests[protocol])
            back.wire(stream=False)
            self.answers[protocol] = back.read_answer(self.answers[Protocol.OPENAI]).body
            stream = back.open_stream(StreamOptions())
            self.streams[protocol] = _frames(b"".join(stream.feed(f).frames for f in self.streams[Protocol.OPENAI]))


def _call(samples: Samples, caller: Protocol, target: Protocol) -> None:
    body, answer = samples.requests[caller], samples.answers[target]
    for _ in range(CALLS):
        way = _way(caller, target, body)
        way.wire(stream=False)
        way.read_answer(answer)


def _read(samples: Samples, caller: Protocol, target: Protocol) -> None:
    way = _way(caller, target, samples.requests[caller])
    way.wire(stream=True)
    stream = way.open_stream(StreamOptions())
    passed = sum(len(stream.feed(frame).frames) for frame in samples.streams[target])
    if not passed:
        raise BenchError(f"no frame came through from {target} to {caller}")


def measure(fastest_seconds: Timer) -> dict[str, float]:
    """The figures of the worst pairs."""
    samples = Samples()
    calls = _over(fastest_seconds, partial(_call, samples))
    events = _over(fastest_seconds, partial(_read, samples))
    return {
        "translated_call": calls / CALLS * MICROSECONDS,
        "translated_event": events / EVENTS * MICROSECONDS,
    }


def _over(fastest_seconds: Timer, work: Callable[[Protocol, Protocol], None]) -> float:
    """Seconds over passing through, of the worst pair."""
    through = {protocol: fastest_seconds(partial(work, protocol, protocol)) for protocol in Protocol}
    return max(
        fastest_seconds(partial(work, caller, target)) - through[target] for caller, target in permutations(Protocol, 2)
    )
