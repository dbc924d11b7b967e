"""One TCP connection: reads requests, performs the steps of each answer, notices at once when the peer leaves.

A connection is its own small HTTP/1.1 server because half of its work is what proper servers refuse to do: reset,
stop inside a chunk, stay silent. Requests of one connection are answered one after the other.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from typing import Protocol, cast

from fluxrpc.clock import Monotonic
from fluxrpc.simulator.ask import HttpRequest
from fluxrpc.simulator.http1 import BadRequest, RequestReader, head_bytes
from fluxrpc.simulator.log import Log, Seen
from fluxrpc.simulator.steps import Cut, Data, Finish, Head, Step, Wait

_LINGER_ZERO = struct.pack("ii", 1, 0)


class Stage(Protocol):
    """What a connection needs from the simulator."""

    book: Log
    clock: Monotonic

    def opened(self, connection: Connection) -> None:
        """The connection stands; over TLS its handshake is done."""

    def lost(self, connection: Connection) -> None:
        """An opened connection is gone."""

    def begin(self, request: HttpRequest, connection: Connection) -> tuple[Seen, Iterator[Step]]:
        """Log the request and choose the steps of its answer."""
        ...


class Connection(asyncio.Protocol):
    """See the module."""

    def __init__(self, stage: Stage, identity: int) -> None:
        self.identity = identity
        self.requests = 0
        self._stage = stage
        self._reader = RequestReader()
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._seen: Seen | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._is_chunked = False

    @property
    def transport(self) -> asyncio.Transport:
        """The transport of the open connection."""
        if self._transport is None:
            raise ConnectionError("the connection is not open")
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: D102  # asyncio's contract
        self._transport = cast("asyncio.Transport", transport)
        self._stage.opened(self)

    def data_received(self, data: bytes) -> None:  # noqa: D102  # asyncio's contract
        self._reader.feed(data)
        self._next()

    def eof_received(self) -> None:  # noqa: D102  # asyncio's contract
        self._peer_left()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002, D102  # asyncio's contract
        self._peer_left()
        self._may_write.set()
        if self._task is not None:
            self._task.cancel()
        self._stage.lost(self)

    def pause_writing(self) -> None:  # noqa: D102  # asyncio's contract
        self._may_write.clear()
        self._hold_back(is_held_back=True)

    def resume_writing(self) -> None:  # noqa: D102  # asyncio's contract
        self._may_write.set()
        self._hold_back(is_held_back=False)

    def abort(self) -> None:
        """End at once, without a word."""
        if self._task is not None:
            self._task.cancel()
        self.transport.abort()

    def _peer_left(self) -> None:
        seen = self._seen
        if seen is None or seen.finished is not None:
            return
        seen.socket_closed_by_peer = True
        seen.socket_closed_at = seen.finished = self._stage.clock()
        self._stage.book.changed()

    def _hold_back(self, *, is_held_back: bool) -> None:
        if self._seen is not None:
            self._seen.is_held_back = is_held_back
            self._stage.book.changed()

    def _next(self) -> None:
        if self._task is not None or self.transport.is_closing():
            return
        try:
            request = self._reader.take()
        except (BadRequest, ValueError):
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()
            return
        if request is None:
            if self._reader.wants_continue:
                self._reader.wants_continue = False
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        self.requests += 1
        self._seen, steps = self._stage.begin(request, self)
        self._task = asyncio.get_running_loop().create_task(self._perform(self._seen, steps))
        self._task.add_done_callback(self._performed)

    def _performed(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self.transport.abort()
            raise error
        if not task.cancelled():
            self._next()

    async def _perform(self, seen: Seen, steps: Iterator[Step]) -> None:
        for step in steps:
            match step:
                case Wait(seconds):
                    await self._wait(seen, seconds)
                case Head():
                    seen.status = step.status
                    self._is_chunked = step.length_bytes is None
                    await self._write(seen, head_bytes(step))
                case Data(body, events):
                    await self._write(seen, self._framed(body))
                    if events:
                        seen.events_sent += events
                        self._stage.book.changed()
                case Finish():
                    if self._is_chunked:
                        self.transport.write(b"0\r\n\r\n")
                    self._settle(seen, completed=True)
                case Cut(how):
                    self._cut(seen, how)
                    return

    async def _wait(self, seen: Seen, seconds: float | None) -> None:
        if seconds is not None:
            await asyncio.sleep(seconds)
            return
        seen.is_silent = True
        self._stage.book.changed()
        await asyncio.Event().wait()  # until connection_lost cancels it

    def _framed(self, body: bytes) -> bytes:
        if not self._is_chunked:
            return body
        return b"%x\r\n%b\r\n" % (len(body), body) if body else b""

    async def _write(self, seen: Seen, data: bytes) -> None:
        if self.transport.is_closing():
            await asyncio.Event().wait()  # cancelled by connection_lost, which is on its way
        self.transport.write(data)
        seen.bytes_sent += len(data)
        if seen.first_byte_sent is None:
            seen.first_byte_sent = self._stage.clock()
            self._stage.book.changed()
        await asyncio.sleep(0)  # each write is a segment of its own: let readers of the same loop take it
        await self._may_write.wait()

    def _cut(self, seen: Seen, how: str) -> None:
        self._settle(seen, completed=False)
        if how == "chunk" and self._is_chunked:
            self.transport.write(b'400\r\ndata: {"cut')
        if how == "reset":
            raw: socket.socket = self.transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
            self.transport.abort()
        else:
            self.transport.close()

    def _settle(self, seen: Seen, *, completed: bool) -> None:
        if seen.finished is not None:
            return
        seen.completed = completed
        seen.finished = self._stage.clock()
        self._stage.book.changed()
        if completed and seen.headers.get("connection", "").lower() == "close":
            self.transport.close()
