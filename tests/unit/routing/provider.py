"""Providers in memory for the router: a transport that answers as scripted, behind the real seam."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from fluxrpc.errors import AnswerFault, AnswerOversize, AttemptError
from fluxrpc.upstream.exchange import Exchange, OutgoingRequest, TransportSettings
from fluxrpc.upstream.pool import TransportPool

ANSWER = json.dumps(
    {
        "id": "c1",
        "object": "chat.completion",
        "model": "served",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }
).encode()
OPENING = b'data: {"model":"served","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
TEXT = b'data: {"model":"served","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
FINISH = b'data: {"model":"served","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
FOREVER = object()
"""In a body: nothing more comes, and the connection stays open."""


def error_body(message: str, code: str | None = None) -> bytes:
    return json.dumps({"error": {"message": message, "type": "server_error", "param": None, "code": code}}).encode()


@dataclass(slots=True)
class Scripted:
    """One answer: a status, headers, and the pieces of its body, or the fault that comes instead of either."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    body: list[object] = field(default_factory=lambda: [ANSWER])
    fault: AttemptError | None = None
    hangs: bool = False


def stream(*pieces: object) -> Scripted:
    return Scripted(headers={"content-type": "text/event-stream", "x-request-id": "r1"}, body=list(pieces))


def failing(status: int, body: bytes = b"{}", **headers: str) -> Scripted:
    sent = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return Scripted(status=status, headers=sent, body=[body])


class FakeExchange:
    def __init__(self, script: Scripted) -> None:
        self.status = script.status
        self.headers = script.headers
        self._pieces = list(script.body)
        self.closed = False
        self.finished = False
        self._woken = asyncio.Event()

    async def read(self, max_bytes: int) -> bytes:
        pieces = []
        while piece := await self.next_chunk():
            pieces.append(piece)
        body = b"".join(pieces)
        if len(body) > max_bytes:
            raise AnswerOversize("answer over the limit")
        return body

    async def next_chunk(self) -> bytes:
        if self.closed:
            raise AnswerFault("body cut")
        if not self._pieces:
            return b""
        piece = self._pieces.pop(0)
        if isinstance(piece, AttemptError):
            raise piece
        if piece is FOREVER:
            await self._woken.wait()
            raise AnswerFault("body cut")
        assert isinstance(piece, bytes)
        return piece

    def close(self) -> None:
        self.closed = True
        self._woken.set()

    def finish(self) -> None:
        self.finished = True
        self.close()


class FakeProviders:
    """All services: scripts by model name, each used once, the last one for ever."""

    def __init__(self, **scripts: Scripted | list[Scripted]) -> None:
        self._scripts = {name: list(s) if isinstance(s, list) else [s] for name, s in scripts.items()}
        self.seen: list[str] = []
        self.requests: list[OutgoingRequest] = []
        self.exchanges: list[FakeExchange] = []
        self.on_send: Callable[[str], None] = lambda _model: None
        self.in_use = 0
        self.closings = 0

    def pool(self) -> TransportPool:
        return TransportPool(build=self._build)

    def _build(self, _settings: TransportSettings) -> FakeProviders:
        return self

    async def send(self, request: OutgoingRequest) -> Exchange:
        model = json.loads(request.body)["model"]
        self.seen.append(model)
        self.requests.append(request)
        self.on_send(model)
        scripts = self._scripts[model]
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        if script.hangs:
            await asyncio.Event().wait()
        if script.fault is not None:
            raise script.fault
        exchange = FakeExchange(script)
        self.exchanges.append(exchange)
        return exchange

    def retire(self) -> None:
        """Nothing is open here."""

    async def close(self) -> None:
        self.closings += 1
