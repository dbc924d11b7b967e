"""The client for threads against a real gRPC server with a played router.

The server runs in the test's loop, so the client runs in a thread, as in a program that has one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import grpc
import pytest

from fluxrpc_client import (
    AnswerRestarted,
    DeadlineExceeded,
    IncompleteStream,
    RateLimited,
    StreamInterrupted,
    SyncClient,
    native,
    text_of,
)
from fluxrpc_client.v1 import PROTOCOL_GEMINI, ExecuteRequest, TranslateRequest
from fluxrpc_client.v1.router_pb2_grpc import RouterServiceStub
from tests.integration.client.fake_router import MIB, Served

T = TypeVar("T")


async def with_client(served: Served, ask: Callable[[SyncClient], T]) -> T:
    def run() -> T:
        with SyncClient(served.target, token="secret", timeout_seconds=20) as client:
            client.wait_ready(timeout_seconds=10)
            return ask(client)

    return await asyncio.to_thread(run)


async def test_execute_returns_the_answer(served: Served) -> None:
    assert text_of(await with_client(served, lambda client: client.execute("text", "Hi", request_id="mine"))) == "Hello"
    assert served.router.metadata["authorization"] == "Bearer secret"
    assert served.router.metadata["x-request-id"] == "mine"
    assert served.router.seconds_left == pytest.approx(20, abs=2)
    large = await with_client(served, lambda client: client.execute("large", "x" * (6 * MIB), timeout_seconds=10))
    assert len(text_of(large)) == 6 * MIB


async def test_the_other_methods(served: Served) -> None:
    def ask(client: SyncClient) -> tuple[list[str], int]:
        translated = client.translate(TranslateRequest(target=PROTOCOL_GEMINI))
        return [model.name for model in client.list_models()], translated.protocol

    assert await with_client(served, ask) == (["native", "text"], PROTOCOL_GEMINI)


async def test_errors_say_what_the_server_said(served: Served) -> None:
    with pytest.raises(RateLimited) as caught:
        await with_client(served, lambda client: client.execute("limited", "Hi"))
    assert (caught.value.retry_after_seconds, len(caught.value.attempts)) == (1.5, 1)
    with pytest.raises(DeadlineExceeded):
        await with_client(served, lambda client: client.execute("hangs", "Hi", timeout_seconds=0.1))


async def test_a_stream_gives_messages_and_text(served: Served) -> None:
    def ask(client: SyncClient) -> tuple[list[str | None], list[str]]:
        with client.stream(ExecuteRequest(model="native", native=native("openai", {}))) as stream:
            kinds: list[str | None] = [message.WhichOneof("message") for message in stream]
        with client.stream("text", "Hi") as stream:
            texts = list(stream.text())
            assert stream.completed is not None
        return kinds, texts

    assert await with_client(served, ask) == (["started", "native", "completed"], ["Hel", "lo"])


@pytest.mark.parametrize(
    ("model", "error"),
    [("incomplete", IncompleteStream), ("interrupted", StreamInterrupted), ("restart", AnswerRestarted)],
)
async def test_what_is_not_complete_is_no_success(served: Served, model: str, error: type[Exception]) -> None:
    texts: list[str] = []

    def ask(client: SyncClient) -> None:
        with client.stream(model, "Hi") as stream:
            texts.extend(stream.text())  # keeps what came before an error

    with pytest.raises(error):
        await with_client(served, ask)
    assert texts == ["Hel"]


async def test_leaving_early_ends_the_call(served: Served) -> None:
    def ask(client: SyncClient) -> None:
        with client.stream("endless", "Hi") as stream:
            next(iter(stream))
        # The channel is still open: leaving the block alone must do it.
        seen = asyncio.run_coroutine_threadsafe(asyncio.wait_for(served.router.cancelled.wait(), 5), loop)
        assert seen.result(6)

    loop = asyncio.get_running_loop()
    await with_client(served, ask)


async def test_no_server_is_not_ready() -> None:
    with SyncClient("127.0.0.1:1") as client, pytest.raises(TimeoutError, match=r"127\.0\.0\.1:1"):
        await asyncio.to_thread(client.wait_ready, timeout_seconds=0.05)


async def test_a_plain_stub_does_as_well(served: Served) -> None:
    def ask() -> str:
        with grpc.insecure_channel(served.target) as channel:
            return text_of(RouterServiceStub(channel).Execute(ExecuteRequest(model="text"), timeout=10))

    assert await asyncio.to_thread(ask) == "Hello"
