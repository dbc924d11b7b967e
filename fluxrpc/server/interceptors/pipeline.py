"""The one gRPC interceptor: it wraps each method's behaviour in the stages, once, and keeps the result.

A chain of gRPC interceptors is walked again for every call and sees four kinds of handlers; here a stage is a function
from behaviour to behaviour, and there is one kind: `async (request, context) -> response | None`. The innermost steps:

* the codec: gRPC hands us bytes. What cannot be parsed or is too large is an error like any other; gRPC's own
  deserializer stands outside every interceptor, and what it raises reaches the caller as an exception's text.
* the stream adapter turns generators into the one shape, so that a behaviour always ends in the task that runs it:
  grpc.aio finalises a generator that is blocked in a send from another task, where timeouts and context variables
  are unsafe.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import grpc

from fluxrpc.server.interceptors.codec import MessageCodec

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
    """Applies `stages`, outermost first, to every method of the server.

    `max_message_bytes` holds for requests that are not streams, and for every answer.
    """

    def __init__(self, stages: Sequence[Stage], *, max_message_bytes: int) -> None:
        self._stages = tuple(stages)
        self._max_message_bytes = max_message_bytes
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
        kind = bool(handler.request_streaming), bool(handler.response_streaming)
        arity, factory = _FACTORIES[kind]
        codec = MessageCodec(handler, self._max_message_bytes)
        behaviour = adapt(getattr(handler, arity))
        if not handler.request_streaming:
            behaviour = _reading(behaviour, codec)
        if not handler.response_streaming:
            behaviour = _writing(behaviour, codec)
        for stage in reversed(self._stages):
            behaviour = stage(method, behaviour)
        return factory(
            behaviour,
            request_deserializer=handler.request_deserializer if handler.request_streaming else None,
            # A write to a stream happens within the behaviour, so what its serializer raises passes the stages.
            response_serializer=codec.write if handler.response_streaming else None,
        )


def _reading(behaviour: Behaviour, codec: MessageCodec) -> Behaviour:
    async def parsed(request: Any, context: Any) -> Any:
        return await behaviour(codec.read(request), context)

    return parsed


def _writing(behaviour: Behaviour, codec: MessageCodec) -> Behaviour:
    async def serialized(request: Any, context: Any) -> Any:
        return codec.write(await behaviour(request, context))

    return serialized


def adapt(behaviour: Callable[[Any, Any], Any]) -> Behaviour:
    """The stream adapter: a generator becomes a coroutine that writes, and is closed in the same task."""
    if not inspect.isasyncgenfunction(behaviour):
        return behaviour

    async def write_all(request: Any, context: Any) -> None:
        generator: AsyncGenerator[Any, None] = behaviour(request, context)
        async with aclosing(generator) as messages:
            async for message in messages:
                await _write(context, message)

    return write_all


async def _write(context: Any, message: Any) -> None:
    """Write, or say that the caller has left: a write that waits then fails, and the task is not cancelled.

    Raises:
        asyncio.CancelledError: the call is over.
    """
    try:
        await context.write(message)
    except (grpc.aio.InternalError, grpc.aio.UsageError) as error:
        raise asyncio.CancelledError from error
