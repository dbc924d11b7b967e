"""An HTTP face of a fluxrpc server for tests: the paths of all five protocols, so that official SDKs can call it.

Bodies and frames pass as they are; an error of the call becomes the HTTP error that its details hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from aiohttp import web
from aiohttp.test_utils import TestServer

from fluxrpc.v1.router_pb2 import ExecuteRequest, NativeRequest
from tests.support.asking import Failure, wire_protocol

_GEMINI = re.compile(r"/models/(?P<model>[^:]+):(?P<method>\w+)$")
_PATHS = {
    "/chat/completions": "openai",
    "/messages": "anthropic",
    "/v2/chat": "cohere",
    "/responses": "responses",
}


class HttpBridge:
    """Takes requests of SDKs and passes them on over gRPC."""

    def __init__(self, stub: Any) -> None:
        self._stub = stub

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        body = await request.read()
        asked, stream = _read(request.path, body)
        try:
            return await self._stream(request, asked) if stream else await self._whole(asked)
        except grpc.aio.AioRpcError as error:
            detail = Failure(error).detail
            if detail is None or not detail.HasField("native"):
                raise
            native = detail.native
            return web.Response(status=native.http_status, body=native.body, content_type="application/json")

    async def _whole(self, asked: ExecuteRequest) -> web.Response:
        answer = await self._stub.Execute(asked)
        return web.Response(body=answer.native.body, content_type="application/json")

    async def _stream(self, request: web.Request, asked: ExecuteRequest) -> web.StreamResponse:
        call = self._stub.ExecuteStream(asked)
        messages = aiter(call)
        first = await anext(messages)
        assert first.HasField("started")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        async for message in messages:
            if message.native:
                await response.write(message.native)
        return response


def _read(path: str, body: bytes) -> tuple[ExecuteRequest, bool]:
    gemini = _GEMINI.search(path)
    if gemini:
        native = NativeRequest(protocol=wire_protocol("gemini"), body=body)
        return ExecuteRequest(model=gemini["model"], native=native), gemini["method"] == "streamGenerateContent"
    protocol = next(protocol for end, protocol in _PATHS.items() if path.endswith(end))
    fields = json.loads(body)
    native = NativeRequest(protocol=wire_protocol(protocol), body=body)
    return ExecuteRequest(model=fields["model"], native=native), bool(fields.get("stream"))


@asynccontextmanager
async def http_bridge(stub: Any) -> AsyncIterator[str]:
    """The running bridge; gives its URL."""
    app = web.Application()
    app.router.add_post("/{path:.*}", HttpBridge(stub).handle)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")
