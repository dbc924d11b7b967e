"""Ports that are not providers: refused, silent, and never connecting."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from types import TracebackType
from typing import Self

_FILL_ATTEMPTS = 16


def refused_port(host: str = "127.0.0.1") -> int:
    """A port where every connection is refused.

    It is bound and never listens, so that nobody else can take it; it stays bound as long as the process lives.
    """
    holder = socket.socket()
    holder.bind((host, 0))
    port = int(holder.getsockname()[1])
    holder.detach()
    return port


class BlackholeListener:
    """Accepts connections and never says a word; with `full_backlog` the connect itself never completes (Linux).

    Invariant: nothing is ever written, and nothing that comes in is answered.
    """

    def __init__(self, *, host: str = "127.0.0.1", full_backlog: bool = False) -> None:
        self.accepted = 0
        self.closed_by_peer = 0
        self._host = host
        self._is_full = full_backlog
        self._listener: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._fillers: list[socket.socket] = []
        self.port = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self._host}:{self.port}"

    async def __aenter__(self) -> Self:
        if self._is_full:
            await self._fill()
        else:
            self._server = await asyncio.start_server(self._swallow, self._host, 0)
            self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.transport.abort()
            await self._server.wait_closed()
        for held in [*self._fillers, *([self._listener] if self._listener else [])]:
            held.close()

    async def _swallow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._writers.add(writer)
        with contextlib.suppress(ConnectionError):
            while await reader.read(1 << 16):
                pass
        self.closed_by_peer += 1
        self._writers.discard(writer)
        writer.close()

    async def _fill(self) -> None:
        """Connect until the queue of the kernel is full; from then on it drops every SYN."""
        self._listener = socket.socket()
        self._listener.bind((self._host, 0))
        self._listener.listen(0)
        self.port = int(self._listener.getsockname()[1])
        loop = asyncio.get_running_loop()
        for _ in range(_FILL_ATTEMPTS):
            filler = socket.socket()
            filler.setblocking(False)  # noqa: FBT003  # the socket module takes it so
            self._fillers.append(filler)
            try:
                async with asyncio.timeout(0.1):
                    await loop.sock_connect(filler, (self._host, self.port))
            except TimeoutError:
                return
        raise OSError("the backlog does not fill on this machine")
