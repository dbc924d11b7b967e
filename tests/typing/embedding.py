"""The core as a program embeds it. Never run: mypy reads it, so the public names keep their types."""

from __future__ import annotations

from contextlib import aclosing

import httpx

from fluxrpc import (
    CallerRequest,
    CallOptions,
    Credential,
    Protocol,
    Result,
    Route,
    RouteDesc,
    Router,
    RouteRepository,
    RouteTable,
    Service,
    ServiceEndpoint,
    StreamCompleted,
    StreamStarted,
    read_request,
)
from fluxrpc.errors import RoutingError, StreamInterrupted
from fluxrpc.upstream.httpx_transport import HttpxTransport
from fluxrpc.upstream.pool import TransportPool
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest


def table() -> RouteTable:
    service = Service(name="local", base_urls={Protocol.OPENAI: "http://127.0.0.1:8080/v1"})
    endpoint = ServiceEndpoint(service)
    repository = RouteRepository()
    desc = RouteDesc(name="one", endpoint=endpoint, model="m", credential=Credential("key"), priority=0, weight=2.0)
    route: Route = repository.find_or_create(desc)
    return RouteTable([route], Protocol.OPENAI)


async def ask(router: Router) -> bytes:
    request: CallerRequest = read_request(Protocol.OPENAI, b'{"messages": []}')
    try:
        result: Result = await router.execute(table(), request, max_attempts=4, options=CallOptions(attempt_seconds=5))
    except RoutingError as error:
        print(error.reason, error.retry_after_seconds, [attempt.reason for attempt in error.attempts])  # noqa: T201
        return b""
    return result.response.body


async def stream(router: Router) -> StreamCompleted | None:
    request = CallerRequest(message=MessageRequest(messages=[Message(role=ROLE_USER, text="Hello")]))
    try:
        async with aclosing(router.execute_stream(table(), request)) as items:
            async for item in items:
                if isinstance(item, StreamStarted):
                    print(item.route.desc.name)  # noqa: T201
                elif isinstance(item, StreamCompleted):
                    return item
                else:
                    print(len(item.events))  # noqa: T201
    except StreamInterrupted as error:
        print(error.partial_usage)  # noqa: T201
    return None


def router_over_httpx(client: httpx.AsyncClient) -> Router:
    return Router(TransportPool(injected={"local": HttpxTransport(client)}))
