"""The async client against a real gRPC server with a played router."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckResponse

from fluxrpc_client import (
    AnswerRestarted,
    CircuitOpen,
    Client,
    DeadlineExceeded,
    IncompleteStream,
    InvalidRequest,
    RateLimited,
    ResourceExhausted,
    Stream,
    StreamInterrupted,
    Unavailable,
    Unimplemented,
    UnknownModel,
    default_service_config,
    native,
    text_of,
)
from fluxrpc_client.v1 import PROTOCOL_GEMINI, ExecuteOptions, ExecuteRequest, NativeRequest, TranslateRequest
from fluxrpc_client.v1.router_pb2_grpc import RouterServiceStub
from tests.integration.client.fake_router import MIB, Served


@pytest.fixture
async def client(served: Served) -> AsyncIterator[Client]:
    async with Client(served.target, token="secret", timeout_seconds=20) as client:
        yield client


async def read_into(texts: list[str], stream: Stream) -> None:
    async for text in stream.text():
        texts.append(text)  # noqa: PERF401  # what came before an error counts


async def test_execute_returns_the_answer(served: Served, client: Client) -> None:
    response = await client.execute("text", "Hi", options=ExecuteOptions(max_attempts=2), request_id="mine")
    assert text_of(response) == "Hello"
    (request,) = served.router.requests
    assert (request.model, request.message.messages[0].text, request.options.max_attempts) == ("text", "Hi", 2)
    assert served.router.metadata["authorization"] == "Bearer secret"
    assert served.router.metadata["x-request-id"] == "mine"


async def test_a_native_request_passes_its_bytes(client: Client) -> None:
    body = b'{"model" : "x"}'
    assert (await client.execute("native", native("openai", body))).native.body == body
    whole = ExecuteRequest(model="native", native=NativeRequest(body=body))
    assert (await client.execute(whole)).native.body == body


async def test_the_other_methods(client: Client) -> None:
    assert [model.name for model in await client.list_models()] == ["native", "text"]
    assert (await client.translate(TranslateRequest(target=PROTOCOL_GEMINI))).protocol == PROTOCOL_GEMINI


async def test_each_call_has_a_deadline(served: Served, client: Client) -> None:
    await client.execute("text", "Hi")
    assert served.router.seconds_left == pytest.approx(20, abs=2)
    await client.execute("text", "Hi", timeout_seconds=5)
    assert served.router.seconds_left == pytest.approx(5, abs=2)


async def test_errors_say_what_the_server_said(client: Client) -> None:
    with pytest.raises(RateLimited) as limited:
        await client.execute("limited", "Hi")
    error = limited.value
    assert (error.reason, error.retry_after_seconds, error.request_id) == ("RATE_LIMITED", 1.5, "r-1")
    assert [(attempt.route, attempt.http_status) for attempt in error.attempts] == [("a", 429)]
    assert isinstance(error.__cause__, grpc.RpcError)
    with pytest.raises(InvalidRequest) as invalid:
        await client.execute("invalid", "")
    assert [violation.path for violation in invalid.value.violations] == ["messages[0].text"]
    with pytest.raises(UnknownModel) as unknown:
        async with client.stream("unknown", "Hi") as stream:
            await anext(aiter(stream))
    assert unknown.value.nearest == ("text", "native")


async def test_a_missed_deadline_is_typed_though_no_server_said_it(client: Client) -> None:
    with pytest.raises(DeadlineExceeded):
        await client.execute("hangs", "Hi", timeout_seconds=0.1)


async def test_a_stream_gives_messages_and_text(client: Client) -> None:
    async with client.stream("text", "Hi") as stream:
        assert (stream.started, stream.request_id) == (None, "")
        kinds = [message.WhichOneof("message") async for message in stream]
        assert kinds == ["started", "events", "completed"]
        assert stream.request_id == "r-1"
        assert stream.route is not None
        assert stream.route.route == "a"
        assert stream.completed is not None
        assert stream.completed.usage.output_tokens == 2
    async with client.stream("text", "Hi") as stream:
        assert [text async for text in stream.text()] == ["Hel", "lo"]
    async with client.stream("native", native("openai", {})) as stream:
        assert b"".join([message.native async for message in stream]) == b"data: [DONE]\n\n"


async def test_a_stream_is_one_call_and_needs_its_block(client: Client) -> None:
    stream = client.stream("text", "Hi")
    with pytest.raises(RuntimeError, match="enter the stream"):
        await anext(aiter(stream))
    async with stream:
        pass
    with pytest.raises(RuntimeError, match="one call"):
        async with stream:
            pass


@pytest.mark.parametrize("model", ["incomplete", "silent-end"])
async def test_ok_without_completed_is_no_success(client: Client, model: str) -> None:
    texts: list[str] = []
    async with client.stream(model, "Hi") as stream:
        with pytest.raises(IncompleteStream) as caught:
            await read_into(texts, stream)
    assert (texts, caught.value.request_id) == ((["Hel"], "r-1") if model == "incomplete" else ([], ""))


async def test_a_cut_stream_says_what_it_cost(client: Client) -> None:
    texts: list[str] = []
    async with client.stream("interrupted", "Hi") as stream:
        with pytest.raises(StreamInterrupted) as caught:
            await read_into(texts, stream)
    assert texts == ["Hel"]
    assert caught.value.partial_usage is not None
    assert caught.value.partial_usage.output_tokens == 1
    assert stream.completed is None


async def test_text_is_never_taken_back(client: Client) -> None:
    async with client.stream("early-restart", "Hi") as stream:
        assert [text async for text in stream.text()] == ["Hello"]
        assert stream.route is not None
        assert stream.route.route == "b"
    async with client.stream("restart", "Hi") as stream:
        with pytest.raises(AnswerRestarted):
            [text async for text in stream.text()]
    async with client.stream("restart", "Hi") as stream:
        assert len([message async for message in stream]) == 5


@pytest.mark.parametrize("how", ["break", "raise", "unread"])
async def test_leaving_early_ends_the_call(served: Served, client: Client, how: str) -> None:
    async def leave() -> None:
        async with client.stream("endless", "Hi") as stream:
            if how == "unread":
                await served.router.begun.wait()
                return
            async for _ in stream:
                if how == "break":
                    break
                raise LookupError

    if how == "raise":
        with pytest.raises(LookupError):
            await leave()
    else:
        await leave()
    await asyncio.wait_for(served.router.cancelled.wait(), 5)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_cancelled_task_cancels_its_call(served: Served, client: Client, streamed: bool) -> None:
    async def ask() -> None:
        if not streamed:
            await client.execute("hangs", "Hi")
        async with client.stream("hangs", "Hi") as stream:
            await anext(aiter(stream))

    task = asyncio.create_task(ask())
    await asyncio.wait_for(served.router.begun.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(served.router.cancelled.wait(), 5)


async def test_unavailable_is_tried_once_more_and_nothing_else_is(served: Served, client: Client) -> None:
    assert text_of(await client.execute("down-once", "Hi")) == "Hello"
    with pytest.raises(Unavailable):
        await client.execute("down", "Hi")
    with pytest.raises(RateLimited):
        await client.execute("limited", "Hi")
    assert served.router.calls == {"down-once": 2, "down": 2, "limited": 1}


async def test_the_server_decides_on_another_try(served: Served, client: Client) -> None:
    with pytest.raises(CircuitOpen) as caught:
        await client.execute("open", "Hi")
    assert caught.value.retry_after_seconds == 30
    with pytest.raises(CircuitOpen):
        await client.execute("recovering", "Hi")
    assert served.router.calls == {"open": 1, "recovering": 2}


async def test_messages_may_be_larger_than_grpcs_default(client: Client) -> None:
    assert len(text_of(await client.execute("large", "x" * (6 * MIB)))) == 6 * MIB
    with pytest.raises(ResourceExhausted):
        await client.execute("text", "x" * (33 * MIB))


async def test_a_server_that_drains_is_not_called(served: Served) -> None:
    async with Client(served.target) as client:
        await client.wait_ready(timeout_seconds=10)
        await served.set_health(HealthCheckResponse.NOT_SERVING)
        async with asyncio.timeout(10):
            while client.channel.get_state() is not grpc.ChannelConnectivity.TRANSIENT_FAILURE:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        with pytest.raises(Unavailable):
            await client.execute("text", "Hi")
        await served.set_health(HealthCheckResponse.SERVING)
        await client.wait_ready(timeout_seconds=10)
        assert text_of(await client.execute("text", "Hi")) == "Hello"
    assert served.router.calls == {"text": 1}


async def test_no_server_is_unavailable() -> None:
    async with Client("127.0.0.1:1") as client:
        with pytest.raises(Unavailable):
            await client.execute("text", "Hi", timeout_seconds=10)
        with pytest.raises(TimeoutError):
            await client.wait_ready(timeout_seconds=0.05)


async def test_a_closed_client_opens_again(served: Served) -> None:
    client = Client(served.target)
    await client.close()
    async with client:
        assert await client.list_models()
    assert await client.list_models()
    await client.close()


async def test_a_plain_stub_does_as_well(served: Served) -> None:
    options = [("grpc.service_config", default_service_config())]
    async with grpc.aio.insecure_channel(served.target, options=options) as channel:
        stub = RouterServiceStub(channel)
        response = await stub.Execute(ExecuteRequest(model="down-once"), timeout=10)
    assert text_of(response) == "Hello"
    assert served.router.calls == {"down-once": 2}


async def test_what_a_server_does_not_have_is_unimplemented(served: Served) -> None:
    await served.server.stop(0)
    bare = grpc.aio.server()
    port = bare.add_insecure_port("127.0.0.1:0")
    await bare.start()
    async with Client(f"127.0.0.1:{port}") as client:
        with pytest.raises(Unimplemented):
            await client.list_models()
    await bare.stop(0)
