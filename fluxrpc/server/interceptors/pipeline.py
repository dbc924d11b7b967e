"""What stands between gRPC and a servicer: it takes each call through the stages, to its behaviour and back.

Not a `grpc.aio.ServerInterceptor`: a chain of those is walked again, as coroutines, for every call. Here each method is
wrapped once, when it is first called, and a call has one frame of ours around its behaviour, which holds:

* the errors, outside of everything: whatever is raised leaves as a status (`errors.abort`);
* the stages, entered in order and left in reverse on every way out;
* the codec: gRPC hands us bytes. What cannot be parsed or is too large is an error like any other; gRPC's own
  deserializer stands outside every interceptor, and what it raises reaches the caller as an exception's text;
* the stream adapter: a generator is written out here, so that it always ends in the task that runs it. grpc.aio
  finalises a generator that is blocked in a send from another task, where timeouts and context variables are unsafe;
* the late reading of a stream's request: grpc.aio keeps the bytes of a request that it hands over for as long as the
  call runs, which for a stream may be hours, and prompts are long. So gRPC is told that the requests of such a method
  are a stream too, which looks the same on the wire, and we read the only one and let go of it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

import grpc

from fluxrpc.clock import Monotonic
from fluxrpc.errors import InvalidRequest
from fluxrpc.server.call import Call, current_call, request_id_from
from fluxrpc.server.interceptors.codec import MessageCodec
from fluxrpc.server.interceptors.errors import abort
from fluxrpc.server.interceptors.stage import Stage

_LEAVING_SECONDS = 0.05

Behaviour = Callable[[Any, Any], Any]
"""A servicer's method: takes a request (or an iterator of them) and the context; a coroutine or a generator."""

_FACTORIES = {
    (False, False): ("unary_unary", grpc.unary_unary_rpc_method_handler),
    (False, True): ("unary_stream", grpc.unary_stream_rpc_method_handler),
    (True, False): ("stream_unary", grpc.stream_unary_rpc_method_handler),
    (True, True): ("stream_stream", grpc.stream_stream_rpc_method_handler),
}


class Pipeline:
    """Applies `stages`, outermost first, to every method that is registered through `registering`.

    `max_message_bytes` holds for requests that are not streams, and for every answer.
    """

    def __init__(self, stages: Sequence[Stage], *, clock: Monotonic, max_message_bytes: int) -> None:
        self._stages = tuple(stages)
        self._clock = clock
        self._max_message_bytes = max_message_bytes

    def registering(self, server: grpc.aio.Server) -> grpc.aio.Server:
        """The server as generated code takes it to add a servicer: what is added passes the stages."""
        return cast("grpc.aio.Server", _Registering(self, server))

    def wrapped(self, handler: grpc.GenericRpcHandler) -> grpc.GenericRpcHandler:
        """A handler of services whose methods pass the stages."""
        return _WrappedServices(self, handler)

    def wrap(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
        """One method with the stages around it."""
        takes_stream, gives_stream = bool(handler.request_streaming), bool(handler.response_streaming)
        arity, _ = _FACTORIES[takes_stream, gives_stream]
        _, factory = _FACTORIES[takes_stream or gives_stream, gives_stream]
        codec = MessageCodec(handler, self._max_message_bytes)
        served = Served(
            method,
            getattr(handler, arity),
            stages=[stage for stage in self._stages if stage.concerns(method)],
            clock=self._clock,
            read=_as_it_is if takes_stream else codec.read,
            write=_as_it_is if gives_stream else codec.write,
            reads_late=gives_stream and not takes_stream,
        )
        return factory(
            served.serve,
            request_deserializer=handler.request_deserializer if takes_stream else None,
            # A write to a stream happens within the behaviour, so what its serializer raises passes the stages.
            response_serializer=codec.write if gives_stream else None,
        )


class _WrappedServices(grpc.GenericRpcHandler):
    """Finds each method once, wraps it, and remembers it. A method that nobody serves is not remembered."""

    def __init__(self, pipeline: Pipeline, handler: grpc.GenericRpcHandler) -> None:
        self._pipeline = pipeline
        self._handler = handler
        self._known: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The wrapped method; None (UNIMPLEMENTED) where nobody serves it."""
        method = handler_call_details.method
        known = self._known.get(method)
        if known is None:
            found = self._handler.service(handler_call_details)
            if found is None:
                return None
            known = self._known[method] = self._pipeline.wrap(method, found)
        return known


class _Registering:
    """Stands for a server while servicers are added to it."""

    def __init__(self, pipeline: Pipeline, server: grpc.aio.Server) -> None:
        self._pipeline = pipeline
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Add them wrapped."""
        self._server.add_generic_rpc_handlers(tuple(map(self._pipeline.wrapped, handlers)))

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Nothing: a registered method would be found without its stages."""


class Served:
    """One method with all that stands around it."""

    def __init__(
        self,
        method: str,
        behaviour: Behaviour,
        *,
        stages: Sequence[Stage],
        clock: Monotonic,
        read: Callable[[Any], Any],
        write: Callable[[Any], Any],
        reads_late: bool = False,
    ) -> None:
        """`reads_late`: the one request is read from the context, not handed over."""
        self._method = method
        self._behaviour = behaviour
        self._is_generator = inspect.isasyncgenfunction(behaviour)
        self._stages = tuple(stages)
        self._clock = clock
        self._read = read
        self._write = write
        self._reads_late = reads_late

    async def serve(self, incoming: Any, context: Any) -> Any:
        """Serve one call. Cancellation passes untouched: swallowing it leaks memory in grpc."""
        metadata = dict(context.invocation_metadata() or ())
        request_id = request_id_from(metadata.get("x-request-id"))
        call = Call(method=self._method, request_id=request_id, started=self._clock())
        current_call.set(call)
        entered = 0
        try:
            for stage in self._stages:
                stage.enter(call, context, metadata)
                entered += 1
            del metadata
            # The request has no name here: a stream must not keep it for as long as it runs.
            if self._reads_late:
                answer = self._behaviour(self._read(await _only_request(context)), context)
            else:
                answer = self._behaviour(self._read(incoming), context)
            if not self._is_generator:
                return self._write(await answer)
            await write_out(answer, context)
        except asyncio.CancelledError:
            call.cut_off(self._clock())
            raise
        except Exception as error:  # noqa: BLE001  # the boundary of the process: no text of it may leave
            await abort(error, call, context)
        finally:
            for stage in reversed(self._stages[:entered]):
                stage.leave(call)


async def _only_request(context: Any) -> Any:
    """The bytes of the one request.

    Raises:
        InvalidRequest: the caller closed its side without one.
    """
    request = await context.read()
    if request is grpc.aio.EOF:
        # A caller that left looks the same at first; the cancellation of this task is then on its way.
        await asyncio.sleep(_LEAVING_SECONDS)
        raise InvalidRequest.at("", "a request is expected")
    return request


async def write_out(generator: AsyncGenerator[Any, None], context: Any) -> None:
    """Write what a generator yields, and close it in this task.

    Raises:
        asyncio.CancelledError: the caller has left: a write that waits fails then, and the task is not cancelled.
    """
    async with aclosing(generator) as messages:
        async for message in messages:
            try:
                await context.write(message)
            except (grpc.aio.InternalError, grpc.aio.UsageError) as error:
                raise asyncio.CancelledError from error
            del message  # a stream may wait long for the next one, and needs no memory of this one


def _as_it_is(message: Any) -> Any:
    return message
