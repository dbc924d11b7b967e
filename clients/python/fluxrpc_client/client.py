"""The async client: one object for one channel, to be kept as long as the program asks models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, overload

import grpc

from fluxrpc_client.connection import DEFAULT_TIMEOUT_SECONDS, Connection, OptionValue
from fluxrpc_client.requests import Prompt, build_request
from fluxrpc_client.status import typed_errors
from fluxrpc_client.stream import AsyncCall, Stream
from fluxrpc_client.v1 import (
    ExecuteOptions,
    ExecuteRequest,
    ExecuteResponse,
    ListModelsRequest,
    Model,
    TranslateRequest,
    TranslateResponse,
)
from fluxrpc_client.v1.router_pb2_grpc import RouterServiceStub

if TYPE_CHECKING:  # the generated module has it for type checkers only
    from fluxrpc_client.v1.router_pb2_grpc import RouterServiceAsyncStub

__all__ = ["Client"]


class Client:
    """Asks models through fluxrpc, from asyncio. Every failed call raises a `FluxError`.

    The channel opens at the first call, in the loop of that call, and may be used by any number of tasks at once.
    A cancelled task cancels its call, and the server then stops the provider.
    """

    def __init__(
        self,
        target: str,
        *,
        token: str | None = None,
        tls: bool | grpc.ChannelCredentials = False,
        allow_plaintext: bool = False,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        options: Mapping[str, OptionValue] | None = None,
    ) -> None:
        """Take where to call, and as whom.

        `target` is `HOST:PORT` or any gRPC target; `token` the bearer token of this caller. `tls=True` trusts the
        system's authorities; credentials say more exactly whom. A token goes unencrypted only within this machine,
        unless `allow_plaintext` says that the network encrypts; otherwise `ValueError`. `timeout_seconds` holds for
        calls that name none. `options` are gRPC channel arguments that replace the ones set here.
        """
        self._connection = Connection(
            target=target, token=token, tls=tls, allow_plaintext=allow_plaintext, options=options or {}
        )
        self._timeout_seconds = timeout_seconds
        self._channel: grpc.aio.Channel | None = None
        self._stub: RouterServiceAsyncStub | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self, *, grace_seconds: float | None = None) -> None:
        """Close the channel. Running calls may take `grace_seconds` more, then they are cancelled."""
        channel, self._channel, self._stub = self._channel, None, None
        if channel is not None:
            await channel.close(grace_seconds)

    @property
    def channel(self) -> grpc.aio.Channel:
        """The channel, for plain stubs: these add `authorization` and a timeout themselves."""
        if self._channel is None:
            connection = self._connection
            if (credentials := connection.credentials) is None:
                self._channel = grpc.aio.insecure_channel(connection.target, connection.channel_options)
            else:
                self._channel = grpc.aio.secure_channel(connection.target, credentials, connection.channel_options)
        return self._channel

    @property
    def stub(self) -> RouterServiceAsyncStub:
        """The generated stub on this client's channel."""
        if self._stub is None:
            self._stub = RouterServiceStub(self.channel)
        return self._stub

    async def wait_ready(self, *, timeout_seconds: float) -> None:
        """Connect, and wait until a server is there that serves. Raises `TimeoutError`."""
        async with asyncio.timeout(timeout_seconds):
            await self.channel.channel_ready()

    @overload
    async def execute(
        self, model: ExecuteRequest, /, *, timeout_seconds: float | None = None, request_id: str | None = None
    ) -> ExecuteResponse: ...
    @overload
    async def execute(
        self,
        model: str,
        prompt: Prompt,
        *,
        options: ExecuteOptions | None = None,
        timeout_seconds: float | None = None,
        request_id: str | None = None,
    ) -> ExecuteResponse: ...
    async def execute(
        self,
        model: str | ExecuteRequest,
        prompt: Prompt | None = None,
        *,
        options: ExecuteOptions | None = None,
        timeout_seconds: float | None = None,
        request_id: str | None = None,
    ) -> ExecuteResponse:
        """Ask a model and wait for the whole answer; `text_of(response)` is its text.

        `request_id` names the call in the server's logs (at most 64 of A-Z a-z 0-9 . _ : -); it makes one otherwise.
        """
        request = build_request(model, prompt, options)
        with typed_errors():
            return await self.stub.Execute(
                request, timeout=self._timeout(timeout_seconds), metadata=self._connection.metadata(request_id)
            )

    @overload
    def stream(
        self, model: ExecuteRequest, /, *, timeout_seconds: float | None = None, request_id: str | None = None
    ) -> Stream: ...
    @overload
    def stream(
        self,
        model: str,
        prompt: Prompt,
        *,
        options: ExecuteOptions | None = None,
        timeout_seconds: float | None = None,
        request_id: str | None = None,
    ) -> Stream: ...
    def stream(
        self,
        model: str | ExecuteRequest,
        prompt: Prompt | None = None,
        *,
        options: ExecuteOptions | None = None,
        timeout_seconds: float | None = None,
        request_id: str | None = None,
    ) -> Stream:
        """Ask a model and read the answer as it comes: `async with client.stream(...) as stream`.

        The call begins when the block is entered and ends, at the latest, when it is left.
        """
        request = build_request(model, prompt, options)

        def open_call() -> AsyncCall:
            return self.stub.ExecuteStream(
                request, timeout=self._timeout(timeout_seconds), metadata=self._connection.metadata(request_id)
            )

        return Stream(open_call)

    async def translate(
        self, request: TranslateRequest, *, timeout_seconds: float | None = None, request_id: str | None = None
    ) -> TranslateResponse:
        """What `execute` would send to a provider, and what the translation would change. Nothing is sent."""
        with typed_errors():
            return await self.stub.Translate(
                request, timeout=self._timeout(timeout_seconds), metadata=self._connection.metadata(request_id)
            )

    async def list_models(self, *, timeout_seconds: float | None = None) -> list[Model]:
        """The models that this client may ask for, by name."""
        with typed_errors():
            response = await self.stub.ListModels(
                ListModelsRequest(), timeout=self._timeout(timeout_seconds), metadata=self._connection.metadata(None)
            )
        return list(response.models)

    def _timeout(self, timeout_seconds: float | None) -> float:
        return self._timeout_seconds if timeout_seconds is None else timeout_seconds
