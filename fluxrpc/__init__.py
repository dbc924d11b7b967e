"""fluxrpc routes LLM requests: the core as a library, without any gRPC server.

    router = Router()
    service = Service(name="local", base_urls={Protocol.OPENAI: "http://127.0.0.1:8080/v1"})
    route = RouteRepository().find_or_create(
        RouteDesc(name="local", endpoint=ServiceEndpoint(service), model="m", credential=Credential("key"))
    )
    table = RouteTable([route], Protocol.OPENAI)
    body = b'{"messages": [{"role": "user", "content": "Hello"}]}'
    result = await router.execute(table, read_request(Protocol.OPENAI, body))
    print(result.response.body, result.usage)
    await router.close()

`docs/architecture.md` draws the house; `fluxrpc.errors` the tree of errors.
"""

from __future__ import annotations

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import CallerRequest, read_request
from fluxrpc.routing.options import CallOptions
from fluxrpc.routing.repository import RouteRepository
from fluxrpc.routing.route import Route, RouteDesc
from fluxrpc.routing.router import Result, Router, StreamCompleted, StreamStarted
from fluxrpc.routing.service_endpoint import Credential, Service, ServiceEndpoint
from fluxrpc.routing.table import RouteTable

__all__ = [
    "CallOptions",
    "CallerRequest",
    "Credential",
    "Protocol",
    "Result",
    "Route",
    "RouteDesc",
    "RouteRepository",
    "RouteTable",
    "Router",
    "Service",
    "ServiceEndpoint",
    "StreamCompleted",
    "StreamStarted",
    "read_request",
]
