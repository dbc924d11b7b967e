"""The one gRPC interceptor: it wraps each method's behaviour in the stages, once, and keeps the result.

A chain of gRPC interceptors is walked again for every call and sees four kinds of handlers; here a stage is a function
from behaviour to behaviour, and there is one kind: `async (request, context) -> response | None`. The innermost step,
the stream adapter, turns generators into that shape, so that a handler always ends in the task that runs it: grpc.aio
finalises a generator that is blocked in a send from another task, where timeouts and context variables are unsafe.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import grpc

Behaviour = Callable[[Any, Any], Awaitable[Any]]
"""`async (request or request iterator, ServicerContext)`; a streaming behaviour writes to the context."""

Stage = Callable[[str, Behaviour], Behaviour]
"""Wraps the behaviour of the method with that full name (`/package.Service/Method`)."""

_FACTORIES = {
    (False, False): ("unary_unary", grpc.unary_unary_rpc_method_handler),
    (False, True): ("unary_stream", grpc.unary_stream_rpc_method_handler),
    (True, False): ("stream_unary", grpc.stream_unary_rpc_method_handler),
    (True, True): ("stream_stream", grpc.stream_stream_rpc_method_handler),
}


class Pipeline(grpc.aio.ServerInterceptor):
    """Applies `stages`, outermost first, to every method of the server."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = tuple(stages)
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The wrapped handler; None (UNIMPLEMENTED) for a method that nobody serves, which is not remembered."""
        method = handler_call_details.method
        handler = self._handlers.get(method)
        if handler is None:
            original = await continuation(handler_call_details)
            if original is None:
                return None
            handler = self._handlers[method] = self._wrap(method, original)
        return handler

    def _wrap(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
        arity, factory = _FACTORIES[bool(handler.request_streaming), bool(handler.response_streaming)]
        behaviour = adapt(getattr(handler, arity))
        for stage in reversed(self._stages):
            behaviour = stage(method, behaviour)
        return factory(
            behaviour,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def adapt(behaviour: Callable[[Any, Any], Any]) -> Behaviour:
    """The stream adapter: a generator becomes a coroutine that writes, and is closed in the same task."""
    if not inspect.isasyncgenfunction(behaviour):
        return behaviour

    async def write_all(request: Any, context: Any) -> None:
        generator: AsyncGenerator[Any, None] = behaviour(request, context)
        async with aclosing(generator) as messages:
            async for message in messages:
                await context.write(message)

    return write_all
