"""The life of a transport: what runs on it, when its connections may be closed.

A reload must not cut running exchanges, and a pool nobody uses must not stay open: so a transport counts its users
and closes its client when it is retired and the last of them has gone. A late user simply opens it again.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine

from fluxrpc.errors import LocalFault
from fluxrpc.upstream.body import BodyExchange

__all__ = ["ClientLife"]


_CLOSE_SECONDS = 2.0


class ClientLife(ABC):
    """Base of the transports. Not thread-safe; lives on the loop of its first `send`."""

    def __init__(self) -> None:
        self._running: set[BodyExchange] = set()
        self._sending = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._retired = False
        self._closed = False

    @abstractmethod
    async def _close_client(self) -> None:
        """Close all connections. Called when none is in use or all are to go; may be followed by a new use."""

    @property
    def in_use(self) -> int:
        """How many exchanges are running or waiting for their head."""
        return len(self._running) + self._sending

    def retire(self) -> None:
        """See `Transport.retire`."""
        self._retired = True
        self._close_if_idle()

    async def close(self) -> None:
        """See `Transport.close`."""
        self._closed = True
        for exchange in tuple(self._running):
            exchange.abort()
        await self._close_client()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=_CLOSE_SECONDS)
        for task in tuple(self._tasks):
            task.cancel()

    def _begin(self) -> None:
        if self._closed:
            raise LocalFault("transport closed")
        self._sending += 1

    def _sent(self, exchange: BodyExchange | None) -> None:
        """The end of `send`: with an exchange that runs from now on, or without."""
        self._sending -= 1
        if exchange is not None:
            self._running.add(exchange)
        else:
            self._close_if_idle()

    def _ended(self, exchange: BodyExchange) -> None:
        self._running.discard(exchange)
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._retired and not self._closed and not self.in_use:
            self._spawn(self._close_idle())

    async def _close_idle(self) -> None:
        if not self.in_use:  # a late user may have come since
            await self._close_client()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        """Run in the background; the set keeps the task from being collected, `close` waits for it."""
        self._keep(asyncio.get_running_loop().create_task(work))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
