"""One call over gRPC, from the command line's options to its end. Where output goes is the business of `output`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from fluxrpc.cli.failure import INCOMPLETE, read_failure
from fluxrpc.cli.output import Output
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest
from fluxrpc.v1.protocol_pb2 import Protocol
from fluxrpc.v1.router_pb2 import ExecuteRequest, NativeRequest
from fluxrpc.v1.router_pb2_grpc import RouterServiceStub

_UNLIMITED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where the server is, and who calls."""

    target: str
    """`HOST:PORT`, or any gRPC target."""
    token: str | None = field(default=None, repr=False)
    tls: bool = False
    ca: Path | None = None
    """PEM file to trust instead of the system's; only with `tls`."""


def typed_request(model: str, prompt: str) -> ExecuteRequest:
    """A typed request that says the prompt as the user."""
    message = MessageRequest(messages=[Message(role=ROLE_USER, text=prompt)])
    return ExecuteRequest(model=model, message=message)


def native_request(model: str, protocol: str, body: bytes) -> ExecuteRequest:
    """A request in a wire protocol (`openai`, …); the server judges the body."""
    number = Protocol.Value(f"PROTOCOL_{protocol.upper()}")
    return ExecuteRequest(model=model, native=NativeRequest(protocol=number, body=body))


async def send(where: Where, request: ExecuteRequest, output: Output, *, stream: bool, timeout_seconds: float) -> bool:
    """Send the request and give what comes to `output`. Whether all went well.

    Cancelling the task cancels the call, and with it the provider's work.

    Raises:
        OSError: the file of authorities cannot be read.
    """
    metadata = () if where.token is None else (("authorization", f"Bearer {where.token}"),)
    async with _channel(where) as channel:
        stub = RouterServiceStub(channel)
        try:
            if not stream:
                output.answer(await stub.Execute(request, timeout=timeout_seconds, metadata=metadata))
                return True
            complete = False
            async for message in stub.ExecuteStream(request, timeout=timeout_seconds, metadata=metadata):
                output.piece(message)
                complete = complete or message.HasField("completed")
        except grpc.aio.AioRpcError as error:
            output.failed(read_failure(error))
            return False
    if not complete:
        output.failed(INCOMPLETE)
    return complete


@asynccontextmanager
async def _channel(where: Where) -> AsyncIterator[grpc.aio.Channel]:
    # Sizes are the server's to limit. Retries too: it has made its own attempts.
    options = [
        ("grpc.max_receive_message_length", _UNLIMITED),
        ("grpc.max_send_message_length", _UNLIMITED),
        ("grpc.enable_retries", 0),
    ]
    if where.tls:
        authorities = None if where.ca is None else await asyncio.to_thread(where.ca.read_bytes)
        opened = grpc.aio.secure_channel(where.target, grpc.ssl_channel_credentials(authorities), options)
    else:
        opened = grpc.aio.insecure_channel(where.target, options)
    async with opened as channel:
        yield channel
