"""The client for threads: `Client` without asyncio, word for word otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self, overload

import grpc

from fluxrpc_client.connection import DEFAULT_TIMEOUT_SECONDS, Connection, OptionValue
from fluxrpc_client.requests import Prompt, build_request
from fluxrpc_client.status import typed_errors
from fluxrpc_client.stream import SyncCall, SyncStream
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

__all__ = ["SyncClient"]


class SyncClient:
    """Asks models through fluxrpc, blocking. Every failed call raises a `FluxError`.

    The channel connects at the first call and may be used by any number of threads at once.
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
        credentials, channel_options = self._connection.credentials, self._connection.channel_options
        self.channel = (
            grpc.insecure_channel(target, channel_options)
            if credentials is None
            else grpc.secure_channel(target, credentials, channel_options)
        )
        """The channel, for plain stubs: these add `authorization` and a timeout themselves."""
        self.stub = RouterServiceStub(self.channel)
        """The generated stub on this client's channel."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the channel. Running calls are cancelled."""
        self.channel.close()

    def wait_ready(self, *, timeout_seconds: float) -> None:
        """Connect, and wait until a server is there that serves. Raises `TimeoutError`."""
        ready = grpc.channel_ready_future(self.channel)
        try:
            ready.result(timeout_seconds)
        except grpc.FutureTimeoutError as error:
            ready.cancel()  # it watches the channel otherwise
            raise TimeoutError(f"no server is ready at {self._connection.target}") from error

    @overload
    def execute(
        self, model: ExecuteRequest, /, *, timeout_seconds: float | None = None, request_id: str | None = None
    ) -> ExecuteResponse: ...
    @overload
    def execute(
        self,
        model: str,
        prompt: Prompt,
        *,
        options: ExecuteOptions | None = None,
        timeout_seconds: float | None = None,
        request_id: str | None = None,
    ) -> ExecuteResponse: ...
    def execute(
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
            return self.stub.Execute(
                request, timeout=self._timeout(timeout_seconds), metadata=self._connection.metadata(request_id)
            )

    @overload
    def stream(
        self, model: ExecuteRequest, /, *, timeout_seconds: float | None = None, request_id: str | None = None
    ) -> SyncStream: ...
    @overload
    def stream(
        self,
        model: str,
        prompt: Prompt,
        *,
        options: ExecuteOptions | None = None,
        timeout_seconds: float | None = None,
        request_id: str | None = None,
    ) -> SyncStream: ...
    def stream(
        self,
        model: str | ExecuteRequest,
        prompt: Prompt | None = None,
        *,
        options: ExecuteOptions | None = None,
        timeout_seconds: float | None = None,
        request_id: str | None = None,
    ) -> SyncStream:
        """Ask a model and read the answer as it comes: `with client.stream(...) as stream`.

        The call begins when the block is entered and ends, at the latest, when it is left.
        """
        request = build_request(model, prompt, options)

        def open_call() -> SyncCall:
            return self.stub.ExecuteStream(
                request, timeout=self._timeout(timeout_seconds), metadata=self._connection.metadata(request_id)
            )

        return SyncStream(open_call)

    def translate(
        self, request: TranslateRequest, *, timeout_seconds: float | None = None, request_id: str | None = None
    ) -> TranslateResponse:
        """What `execute` would send to a provider, and what the translation would change. Nothing is sent."""
        with typed_errors():
            return self.stub.Translate(
                request, timeout=self._timeout(timeout_seconds), metadata=self._connection.metadata(request_id)
            )

    def list_models(self, *, timeout_seconds: float | None = None) -> list[Model]:
        """The models that this client may ask for, by name."""
        with typed_errors():
            response = self.stub.ListModels(
                ListModelsRequest(), timeout=self._timeout(timeout_seconds), metadata=self._connection.metadata(None)
            )
        return list(response.models)

    def _timeout(self, timeout_seconds: float | None) -> float:
        return self._timeout_seconds if timeout_seconds is None else timeout_seconds
