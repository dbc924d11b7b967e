"""One attempt of one route: request bytes out, answer in. The only place where routing meets the upstream.

What goes wrong is raised as an `AttemptError`; who is to blame, and what is tried next, is decided elsewhere.
"""

from __future__ import annotations

import asyncio
from typing import NoReturn

from msgspec import Struct

from fluxrpc.clock import WallClock
from fluxrpc.errors import AttemptError, NetworkFault, SilenceFault, StaleConnection
from fluxrpc.protocols.base import Answer, Protocol, StreamOptions
from fluxrpc.protocols.bridge import Bridge
from fluxrpc.protocols.headers import visible_headers
from fluxrpc.routing.bridging import LONG_WORK_BYTES
from fluxrpc.routing.commit import LiveStream, open_stream
from fluxrpc.routing.gathering import gather_answer
from fluxrpc.routing.options import CallOptions
from fluxrpc.routing.outgoing import HeaderList, outgoing
from fluxrpc.routing.route import Route
from fluxrpc.routing.time_limit import TimeLimits
from fluxrpc.routing.trace import malformed_notes
from fluxrpc.upstream.exchange import Exchange, OutgoingRequest
from fluxrpc.upstream.pool import TransportPool
from fluxrpc.v1.outcome_pb2 import TranslationNote

# An error body is read for its code and message; what is longer says nothing more.
_MAX_ERROR_BYTES = 1024 * 1024
# Nor is it waited for longer than this: the status has said already that there is no answer.
_ERROR_BODY_SECONDS = 1.0


class Reply(Struct, frozen=True, kw_only=True):
    """A whole answer with what came with it."""

    answer: Answer
    http_status: int
    headers: HeaderList
    notes: tuple[TranslationNote, ...]
    """What reading the answer changed, and what of it was broken."""


class Attempter:
    """Carries attempts out over the transports of the process."""

    def __init__(self, transports: TransportPool, limits: TimeLimits, wall_clock: WallClock) -> None:
        self._transports = transports
        self._limits = limits
        self._wall_clock = wall_clock

    async def ask(self, route: Route, target: Protocol, bridge: Bridge, options: CallOptions) -> Reply:
        """A unary attempt.

        Raises:
            AttemptError: no usable answer came.
            InvalidRequest: the request cannot be written.
            NotExpressible: nor under strict fidelity.
        """
        limit = options.attempt_seconds or route.desc.limits.attempt_seconds
        if limit is None:
            return await self._ask(route, target, bridge, options)
        with self._limits.within(limit, _attempt_timeout):
            return await self._ask(route, target, bridge, options)

    async def _ask(self, route: Route, target: Protocol, bridge: Bridge, options: CallOptions) -> Reply:
        limits = route.desc.limits
        exchange = await self._send(route, target, bridge, options, stream=route.desc.streams_only)
        try:
            if not _is_success(exchange):
                await self._raise_error(exchange, bridge)
            if exchange.headers.get("content-type", "").startswith("text/event-stream"):
                gatherer = bridge.gatherer(StreamOptions(max_event_bytes=limits.max_event_bytes))
                answer = await gather_answer(exchange, gatherer, limits)
                notes = (*answer.notes, *malformed_notes(gatherer.malformed))
                exchange.finish()
            else:
                body = await exchange.read(limits.max_answer_bytes)
                if len(body) <= LONG_WORK_BYTES:
                    answer = bridge.read_answer(body)
                else:
                    answer = await asyncio.to_thread(bridge.read_answer, body)
                notes = answer.notes
        except AttemptError as error:
            error.http_status = exchange.status
            raise
        finally:
            exchange.close()
        headers = visible_headers(exchange.headers)
        return Reply(answer=answer, http_status=exchange.status, headers=headers, notes=notes)

    async def open(self, route: Route, target: Protocol, bridge: Bridge, options: CallOptions) -> LiveStream:
        """A streaming attempt up to its first real event. The stream that comes back must be closed.

        Raises:
            AttemptError: no usable answer began within the first-token limit.
            InvalidRequest: the request cannot be written.
            NotExpressible: nor under strict fidelity.
        """
        limit = options.first_token_seconds or route.desc.limits.first_token_seconds
        with self._limits.within(limit, _first_token_timeout):
            return await self._open(route, target, bridge, options)

    async def _open(self, route: Route, target: Protocol, bridge: Bridge, options: CallOptions) -> LiveStream:
        limits = route.desc.limits
        exchange = await self._send(route, target, bridge, options, stream=True)
        try:
            if not _is_success(exchange):
                await self._raise_error(exchange, bridge)
            stream_options = StreamOptions(max_event_bytes=limits.max_event_bytes)
            headers = visible_headers(exchange.headers)
            if _is_json(exchange):  # some servers do not stream, or not everything: a whole answer stands for a stream
                watch, first = bridge.stream_of(await exchange.read(limits.max_answer_bytes))
                return LiveStream(
                    exchange=exchange, watch=watch, headers=headers, limits=limits, first=first, ended=True
                )
            return await open_stream(exchange, bridge.open_stream(stream_options), headers, limits)
        except BaseException as error:
            exchange.close()
            if isinstance(error, AttemptError):
                error.http_status = exchange.status
            raise

    async def _send(
        self, route: Route, target: Protocol, bridge: Bridge, options: CallOptions, *, stream: bool
    ) -> Exchange:
        service = route.desc.endpoint.service
        wire = bridge.wire(stream=stream)
        request = outgoing(route, target, wire, options, stream=stream)
        transport = self._transports.transport(service.name, service.transport)
        try:
            return await transport.send(request)
        except StaleConnection:
            # The server closed a kept-alive connection just then: no request has reached it, nobody is to blame.
            fresh = OutgoingRequest(
                url=request.url,
                headers=request.headers,
                body=request.body,
                time_limits=request.time_limits,
                fresh_connection=True,
            )
        try:
            return await transport.send(fresh)
        except StaleConnection as error:
            raise NetworkFault(error.detail) from error

    async def _raise_error(self, exchange: Exchange, bridge: Bridge) -> NoReturn:
        """Raise the provider's own error."""
        try:
            async with asyncio.timeout(_ERROR_BODY_SECONDS):
                body = await exchange.read(_MAX_ERROR_BYTES)
        except (AttemptError, TimeoutError):
            body = b""  # the status alone says enough; a cut error body does not change whose fault it is
        raise bridge.read_error(exchange.status, exchange.headers, body, now=self._wall_clock())


def _is_success(exchange: Exchange) -> bool:
    """A 2xx; all else is an error, redirects too: they are not followed."""
    return 200 <= exchange.status < 300


def _attempt_timeout() -> SilenceFault:
    return SilenceFault("attempt timeout")


def _first_token_timeout() -> SilenceFault:
    return SilenceFault("first token timeout")


def _is_json(exchange: Exchange) -> bool:
    return exchange.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
