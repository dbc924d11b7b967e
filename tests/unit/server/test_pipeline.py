"""A call through the stages, with gRPC's side played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any, cast

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from fluxrpc.errors import AnswerTooLarge, FluxError, GrpcCode, InvalidRequest, RequestTooLarge
from fluxrpc.server.call import Call, current_call
from fluxrpc.server.interceptors.auth import Authenticator, Callers
from fluxrpc.server.interceptors.codec import MessageCodec
from fluxrpc.server.interceptors.limits import Limiter
from fluxrpc.server.interceptors.pipeline import Pipeline, Served, write_out
from fluxrpc.server.interceptors.stage import Metadata, Stage

METHOD = "/fluxrpc.v1.RouterService/Execute"
mark: ContextVar[str] = ContextVar("mark")


class Context:
    """A ServicerContext as far as the pipeline uses it."""

    def __init__(self, fail_after: int = 1000) -> None:
        self.written: list[Any] = []
        self.aborted: Any = None
        self._fail_after = fail_after

    async def write(self, message: Any) -> None:
        if len(self.written) == self._fail_after:
            raise grpc.aio.UsageError("RPC already finished.")
        self.written.append(message)
        await asyncio.sleep(0)

    async def abort_with_status(self, status: Any) -> None:
        self.aborted = status
        raise grpc.aio.AbortError

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return (("x-request-id", "r-1"),)


class Trace(Stage):
    """Notes its turn, and refuses where it is told to."""

    def __init__(self, name: str, trace: list[str], refuse: FluxError | None = None) -> None:
        self._name = name
        self._trace = trace
        self._refuse = refuse

    def enter(self, call: Call, context: Any, metadata: Metadata) -> None:  # the stage's shape
        if self._refuse is not None:
            raise self._refuse
        self._trace.append(f"+{self._name}")

    def leave(self, call: Call) -> None:
        self._trace.append(f"-{self._name} {call.code.name}")


class Ends:
    """Where and how a generator ended."""

    def __init__(self) -> None:
        self.task: object = None
        self.mark = ""
        self.kind: type[BaseException] | None = None

    async def stream(self, _request: Any, _context: Any) -> AsyncIterator[int]:
        token = mark.set("in the generator")
        try:
            for n in range(10):
                yield n
        except BaseException as error:
            self.kind = type(error)
            raise
        finally:
            self.task, self.mark = asyncio.current_task(), mark.get()
            mark.reset(token)  # raises where it runs in another context than the one that set it


def served(behaviour: Any, *stages: Stage, now: float = 1.0) -> Served:
    return Served(METHOD, behaviour, stages=stages, clock=lambda: now, read=lambda data: data, write=lambda data: data)


def raising(error: BaseException) -> Any:
    async def behaviour(_request: Any, _context: Any) -> Any:
        raise error

    return behaviour


async def test_a_generator_writes_and_ends_in_the_callers_task() -> None:
    ends, context = Ends(), Context()
    await served(ends.stream).serve(None, context)
    assert context.written == list(range(10))
    assert (ends.task, ends.mark, ends.kind) == (asyncio.current_task(), "in the generator", None)


async def test_a_caller_who_left_is_a_cancellation() -> None:
    """A write that waits fails when the call is over; the task itself is not cancelled then."""
    ends, context, trace = Ends(), Context(fail_after=3), list[str]()
    with pytest.raises(asyncio.CancelledError):
        await served(ends.stream, Trace("a", trace)).serve(None, context)
    assert (ends.task, ends.mark, ends.kind) == (asyncio.current_task(), "in the generator", GeneratorExit)
    assert trace == ["+a", "-a CANCELLED"]
    assert context.aborted is None


async def test_a_cancelled_write_ends_the_generator_where_it_runs() -> None:
    ends, began = Ends(), asyncio.Event()

    class Stuck(Context):
        async def write(self, message: Any) -> None:  # it never comes so far
            began.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(served(ends.stream).serve(None, Stuck()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (ends.task, ends.mark) == (task, "in the generator")


async def test_what_a_write_raises_otherwise_is_an_error() -> None:
    class Full(Context):
        async def write(self, message: Any) -> None:
            raise AnswerTooLarge(f"{message} is too much")

    with pytest.raises(AnswerTooLarge):
        await write_out(cast("Any", Ends().stream(None, None)), Full())


@pytest.mark.may_block("the log reads the source for its traceback")
@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (InvalidRequest.at("a.b", "no"), GrpcCode.INVALID_ARGUMENT, "INVALID_REQUEST"),
        (ZeroDivisionError("sk-secret"), GrpcCode.INTERNAL, "INTERNAL"),
    ],
    ids=["ours", "a bug"],
)
async def test_whatever_is_raised_leaves_as_a_status(error: Exception, code: GrpcCode, reason: str) -> None:
    context, trace = Context(), list[str]()
    with pytest.raises(grpc.aio.AbortError):
        await served(raising(error), Trace("a", trace), Trace("b", trace)).serve(None, context)
    assert context.aborted.code.name == code.name
    assert "secret" not in repr(context.aborted)
    assert trace == ["+a", "+b", f"-b {code.name}", f"-a {code.name}"]
    assert current_call.get().reason == reason


async def test_a_stage_that_refuses_is_not_left() -> None:
    context, trace = Context(), list[str]()
    refused = served(raising(AssertionError()), Trace("a", trace), Trace("b", trace, refuse=RequestTooLarge("no")))
    with pytest.raises(grpc.aio.AbortError):
        await refused.serve(None, context)
    assert trace == ["+a", "-a RESOURCE_EXHAUSTED"]


async def test_what_another_servicer_said_stands() -> None:
    context = Context()
    with pytest.raises(grpc.aio.AbortError):
        await served(raising(grpc.aio.AbortError())).serve(None, context)
    assert context.aborted is None


@pytest.mark.may_block("the log reads the source for its traceback")
async def test_an_error_that_cannot_be_written_is_a_bug_like_any_other() -> None:
    class Odd(FluxError):
        reason = cast("str", object())
        code = GrpcCode.UNAVAILABLE

    context = Context()
    with pytest.raises(grpc.aio.AbortError):
        await served(raising(Odd("sk-secret"))).serve(None, context)
    assert context.aborted.code is grpc.StatusCode.INTERNAL
    assert context.aborted.details == "internal error, request r-1"


@pytest.mark.parametrize(("now", "code"), [(1.0, "CANCELLED"), (7.0, "DEADLINE_EXCEEDED")])
async def test_who_left_and_whose_time_ran_out(now: float, code: str) -> None:
    async def waits(_request: Any, _context: Any) -> None:
        current_call.get().ends_at = 7.0
        raise asyncio.CancelledError

    trace = list[str]()
    with pytest.raises(asyncio.CancelledError):
        await served(waits, Trace("a", trace), now=now).serve(None, Context())
    assert trace == ["+a", f"-a {code}"]


def _codec(max_bytes: int) -> MessageCodec:
    handler = grpc.unary_unary_rpc_method_handler(
        cast("Any", None),
        request_deserializer=Duration.FromString,
        response_serializer=Duration.SerializeToString,
    )
    return MessageCodec(handler, max_bytes)


def test_messages_and_their_limit() -> None:
    current_call.set(Call(method=METHOD, request_id="r-1", started=0.0))
    five = Duration(seconds=5)
    data = five.SerializeToString()
    assert _codec(len(data)).read(data) == five
    assert _codec(len(data)).write(five) == data
    with pytest.raises(RequestTooLarge):
        _codec(len(data) - 1).read(data)
    with pytest.raises(AnswerTooLarge):
        _codec(len(data) - 1).write(five)
    with pytest.raises(InvalidRequest):
        _codec(100).read(b"\xff")


class Recorded(Stage):
    """Remembers who came and went."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self._name = name
        self._seen = seen

    def concerns(self, method: str) -> bool:
        self._seen.append(method)
        return True

    def enter(self, call: Call, context: Any, metadata: Metadata) -> None:
        self._seen.append(f"in {self._name}")

    def leave(self, call: Call) -> None:
        self._seen.append(f"out {self._name}")


async def _echo(request: Any, _context: Any) -> Any:
    return request


async def test_stages_are_entered_in_order_and_left_in_reverse() -> None:
    seen: list[str] = []
    pipeline = Pipeline([Recorded("a", seen), Recorded("b", seen)], clock=lambda: 1.0, max_message_bytes=100)
    handler = grpc.unary_unary_rpc_method_handler(_echo, Duration.FromString, Duration.SerializeToString)
    data = Duration(seconds=5).SerializeToString()
    wrapped = cast("Any", pipeline.wrap("/m", handler))
    assert await wrapped.unary_unary(data, Context()) == data
    assert seen == ["/m", "/m", "in a", "in b", "out b", "out a"]


def test_each_method_is_wrapped_once_and_nobodys_method_never() -> None:
    asked: list[str] = []

    class Services(grpc.GenericRpcHandler):
        def service(self, handler_call_details: Any) -> Any:
            asked.append(handler_call_details.method)
            handler = grpc.unary_unary_rpc_method_handler(_echo, Duration.FromString, Duration.SerializeToString)
            return handler if handler_call_details.method == "/known" else None

    wrapped = Pipeline([], clock=lambda: 1.0, max_message_bytes=100).wrapped(Services())
    known, unknown = (cast("Any", type("Details", (), {"method": method})) for method in ("/known", "/unknown"))
    first = wrapped.service(known)
    assert first is not None
    assert wrapped.service(known) is first
    assert [wrapped.service(unknown) for _ in range(2)] == [None, None]
    assert asked == ["/known", "/unknown", "/unknown"]


def test_which_calls_pass_which_stages() -> None:
    execute, health, reflection = "/fluxrpc.v1.RouterService/Execute", "/grpc.health.v1.Health/Check", "/grpc.r.v1/X"
    assert [Limiter(1).concerns(method) for method in (execute, health, reflection)] == [True, False, False]
    assert [Authenticator(Callers({})).concerns(m) for m in (execute, health, reflection)] == [True, False, True]


async def test_the_request_of_a_stream_is_read_late_and_not_kept() -> None:
    """gRPC is told that a stream of requests comes, and hands over an iterator, which nobody asks."""
    wrapped = cast(
        "Any",
        Pipeline([], clock=lambda: 1.0, max_message_bytes=100).wrap(
            METHOD,
            grpc.unary_stream_rpc_method_handler(_twice, Duration.FromString, Duration.SerializeToString),
        ),
    )

    class Reading(Context):
        async def read(self) -> bytes:
            return Duration(seconds=5).SerializeToString()

    context = Reading()
    assert (wrapped.request_streaming, wrapped.response_streaming) == (True, True)
    assert wrapped.request_deserializer is None
    await wrapped.stream_stream(None, context)
    assert context.written == [Duration(seconds=5), Duration(seconds=5)]


async def _twice(request: Any, _context: Any) -> AsyncIterator[Any]:
    yield request
    yield request
