"""A client that sees bytes: what came, and how the connection ended. An HTTP library would smooth it over."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from fluxrpc.simulator import Simulator

PROTOCOLS = ("openai", "anthropic", "gemini", "cohere", "responses")
TOOL_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TERMINATORS = {
    "openai": b"data: [DONE]",
    "anthropic": b"event: message_stop",
    "gemini": b'"finishReason"',
    "cohere": b"event: message-end",
    "responses": b"event: response.completed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAnswer:
    status: int
    headers: dict[str, str]
    body: bytes
    ended: str
    """complete, closed (FIN too early), reset, or open (nothing more came in time)."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def data(self) -> list[Any]:
        """The JSON of each event, without what is not JSON."""
        found = []
        for block in self.body.decode().replace("\r\n", "\n").split("\n\n"):
            lines = [line.removeprefix("data: ") for line in block.split("\n") if line.startswith("data: ")]
            text = "\n".join(lines)
            if text and text != "[DONE]":
                found.append(json.loads(text))
        return found


def request_bytes(protocol: str, model: str, /, *, stream: bool = False, **extra: Any) -> bytes:
    """A minimal good request; `extra` are body fields, `None` leaves a field out."""
    messages = [{"role": "user", "content": "hello dear model"}]
    bodies: dict[str, dict[str, Any]] = {
        "openai": {"model": model, "messages": messages, "stream": stream},
        "anthropic": {"model": model, "messages": messages, "max_tokens": 100, "stream": stream},
        "gemini": {"contents": [{"role": "user", "parts": [{"text": "hello dear model"}]}]},
        "cohere": {"model": model, "messages": messages, "stream": stream},
        "responses": {"model": model, "input": "hello dear model", "stream": stream},
    }
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    paths = {
        "openai": "/v1/chat/completions",
        "anthropic": "/v1/messages",
        "gemini": f"/v1beta/models/{model}:{method}",
        "cohere": "/v2/chat",
        "responses": "/v1/responses",
    }
    body = {name: value for name, value in {**bodies[protocol], **extra}.items() if value is not None}
    key = {"gemini": "x-goog-api-key: k", "anthropic": "x-api-key: k\r\nanthropic-version: 2023-06-01"}
    auth = key.get(protocol, "authorization: Bearer k")
    return post(paths[protocol], json.dumps(body).encode(), auth)


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    head = f"POST {path} HTTP/1.1\r\nhost: sim\r\ncontent-length: {len(body)}\r\n{lines}\r\n"
    return head.encode() + body


class RawClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, sim: Simulator) -> RawClient:
        return cls(*await asyncio.open_connection("127.0.0.1", sim.port, limit=1 << 24))

    async def send(self, data: bytes, *, patience_seconds: float = 5.0) -> RawAnswer:
        self.writer.write(data)
        head: list[str] = []
        body = bytearray()
        try:
            async with asyncio.timeout(patience_seconds):
                head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                await self._read_body(_headers(head), body)
            ended = "complete"
        except TimeoutError:
            ended = "open"
        except asyncio.IncompleteReadError as exc:
            body += exc.partial if head and "chunked" not in str(head) else b""
            ended = "closed"
        except ConnectionResetError:
            ended = "reset"
        status = int(head[0].split(" ")[1]) if head else 0
        return RawAnswer(status=status, headers=_headers(head), body=bytes(body), ended=ended)

    async def hang(self, sim: Simulator, data: bytes) -> RawAnswer:
        """What has come when the simulator falls silent."""
        before = len(sim.log)
        self.writer.write(data)
        await sim.wait_for(lambda: len(sim.log) > before and sim.log[-1].is_silent)
        return await self.send(b"", patience_seconds=0.05)

    async def _read_body(self, headers: dict[str, str], body: bytearray) -> None:
        if "content-length" in headers:
            body += await self.reader.readexactly(int(headers["content-length"]))
            return
        while True:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            chunk = await self.reader.readexactly(size + 2)
            if size == 0:
                return
            body += chunk[:-2]

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return  # the simulator reset it: that was the point


def _headers(head: list[str]) -> dict[str, str]:
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}


async def once(sim: Simulator, data: bytes) -> RawAnswer:
    """One request on a connection of its own."""
    client = await RawClient.connect(sim)
    try:
        return await client.send(data)
    finally:
        await client.close()


async def ask(sim: Simulator, protocol: str, model: str, /, *, stream: bool = False, **extra: Any) -> RawAnswer:
    """One minimal request on a connection of its own."""
    return await once(sim, request_bytes(protocol, model, stream=stream, **extra))
