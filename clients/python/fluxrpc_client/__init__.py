"""Client of fluxrpc, the gRPC service through which programs reach every LLM provider.

    async with Client("localhost:50051") as client:
        response = await client.execute("fast", "Hello")
        async with client.stream("fast", "Hello") as stream:
            async for text in stream.text():
                print(text, end="")

`SyncClient` is the same without asyncio. Messages and enums are in `fluxrpc_client.v1`, and the generated stubs in
`fluxrpc_client.v1.router_pb2_grpc` work without any of this.
"""

from __future__ import annotations

from fluxrpc_client.client import Client
from fluxrpc_client.connection import default_service_config
from fluxrpc_client.errors import (
    AnswerRestarted,
    Cancelled,
    CircuitOpen,
    ContentRefused,
    ContextLengthExceeded,
    CredentialFailed,
    DeadlineExceeded,
    FailedPrecondition,
    FieldViolation,
    FluxError,
    IncompleteStream,
    InternalError,
    InvalidRequest,
    NotExpressible,
    Overloaded,
    PermissionDenied,
    ProviderFailed,
    RateLimited,
    ResourceExhausted,
    StateNotPortable,
    StreamInterrupted,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unimplemented,
    UnknownModel,
)
from fluxrpc_client.requests import Prompt, assistant, native, system, text_of, user
from fluxrpc_client.stream import Stream, SyncStream
from fluxrpc_client.sync_client import SyncClient

__all__ = [
    "AnswerRestarted",
    "Cancelled",
    "CircuitOpen",
    "Client",
    "ContentRefused",
    "ContextLengthExceeded",
    "CredentialFailed",
    "DeadlineExceeded",
    "FailedPrecondition",
    "FieldViolation",
    "FluxError",
    "IncompleteStream",
    "InternalError",
    "InvalidRequest",
    "NotExpressible",
    "Overloaded",
    "PermissionDenied",
    "Prompt",
    "ProviderFailed",
    "RateLimited",
    "ResourceExhausted",
    "StateNotPortable",
    "Stream",
    "StreamInterrupted",
    "SyncClient",
    "SyncStream",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnknownModel",
    "assistant",
    "default_service_config",
    "native",
    "system",
    "text_of",
    "user",
]
