"""One transport for each service endpoint, across reloads.

Endpoints do not share connections, so one that hangs with all its places taken holds up no other. A reload that
changes how an endpoint is reached, or drops it, retires the old transport: exchanges that run on it end in peace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

from fluxrpc.upstream.aiohttp_transport import AiohttpTransport
from fluxrpc.upstream.exchange import Transport, TransportSettings

__all__ = ["TransportPool"]


class TransportPool:
    """Transports by endpoint name. Not thread-safe; transports open their connections on first use."""

    def __init__(
        self,
        *,
        injected: Mapping[str, Transport] | None = None,
        build: Callable[[TransportSettings], Transport] = AiohttpTransport,
    ) -> None:
        """`injected` transports serve their endpoints instead of built ones; closing them is their giver's business.

        `build` makes all others.
        """
        self._injected = dict(injected or {})
        self._build = build
        self._current: dict[str, tuple[TransportSettings, Transport]] = {}
        self._retired: list[Transport] = []

    def transport(self, endpoint: str, settings: TransportSettings) -> Transport:
        """The transport of an endpoint; the same one as long as its settings are equal."""
        given = self._injected.get(endpoint)
        if given is not None:
            return given
        held = self._current.get(endpoint)
        if held is not None and (held[0] is settings or held[0] == settings):
            return held[1]
        self._retire(endpoint)
        made = self._build(settings)
        self._current[endpoint] = (settings, made)
        return made

    def keep_only(self, endpoints: Collection[str]) -> None:
        """After a reload: retire the transports of all other endpoints."""
        for endpoint in [name for name in self._current if name not in endpoints]:
            self._retire(endpoint)

    async def close(self) -> None:
        """Close every connection of every transport built here, running exchanges included. Idempotent."""
        transports = [*self._retired, *(transport for _, transport in self._current.values())]
        self._retired.clear()
        self._current.clear()
        await asyncio.gather(*(transport.close() for transport in transports))

    def _retire(self, endpoint: str) -> None:
        held = self._current.pop(endpoint, None)
        if held is not None:
            held[1].retire()
            # Kept while it is used, so that `close` reaches it; transports without users hold no connection.
            self._retired = [transport for transport in self._retired if transport.in_use]
            self._retired.append(held[1])
