"""Requests as callers send them, in each protocol, and what comes back of them."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from fluxrpc.simulator import Simulator
from fluxrpc.v1.message_pb2 import ROLE_USER, MessageRequest
from fluxrpc.v1.outcome_pb2 import ErrorDetail
from fluxrpc.v1.protocol_pb2 import Protocol
from fluxrpc.v1.router_pb2 import ExecuteRequest, NativeRequest

M = TypeVar("M", bound=Message)
PROTOCOLS = ("openai", "anthropic", "gemini", "cohere", "responses")


def body_of(protocol: str, prompt: str = "Say something.", **fields: Any) -> dict[str, Any]:
    """A small request body of that protocol without a model."""
    messages = [{"role": "user", "content": prompt}]
    bodies: dict[str, dict[str, Any]] = {
        "openai": {"messages": messages},
        "anthropic": {"messages": messages, "max_tokens": 100},
        "gemini": {"contents": [{"role": "user", "parts": [{"text": prompt}]}]},
        "cohere": {"messages": messages},
        "responses": {"input": prompt},
    }
    return {**bodies[protocol], **fields}


def native(protocol: str, model: str, body: bytes | None = None, **fields: Any) -> ExecuteRequest:
    """A native request for a model; `body` as it is, or a small one with further `fields`."""
    content = json.dumps(body_of(protocol, **fields)).encode() if body is None else body
    return ExecuteRequest(model=model, native=NativeRequest(protocol=wire_protocol(protocol), body=content))


def wire_protocol(protocol: str) -> Protocol.ValueType:
    """The contract's number of a protocol."""
    return Protocol.Value(f"PROTOCOL_{protocol.upper()}")


def typed(model: str, text: str = "Say something.") -> ExecuteRequest:
    """A typed request for a model."""
    message = MessageRequest()
    message.messages.add(role=ROLE_USER, text=text)
    return ExecuteRequest(model=model, message=message)


def config_for(sim: Simulator, models: dict[str, list[dict[str, Any]]], **sections: Any) -> dict[str, Any]:
    """A configuration with one service `sim` that speaks all protocols; routes name it unless they name another."""
    services = {"sim": {"protocols": {protocol: sim.base_url(protocol) for protocol in PROTOCOLS}}}
    return {
        **sections,
        "services": {**services, **sections.get("services", {})},
        "models": {
            name: {"routes": [{"service": "sim", "credential": "${KEY}", **route} for route in routes]}
            for name, routes in models.items()
        },
    }


class Failure:
    """A failed call with its details unpacked."""

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        self.error = error
        self.code = error.code()
        self.message = error.details() or ""
        status = rpc_status.from_call(error)
        self.status: Status | None = status
        self.info = self._first(ErrorInfo())
        self.retry = self._first(RetryInfo())
        self.bad_request = self._first(BadRequest())
        self.detail = self._first(ErrorDetail())

    @property
    def reason(self) -> str:
        """The reason of its ErrorInfo; empty where it has none."""
        return "" if self.info is None else self.info.reason

    @property
    def trailers(self) -> dict[str, Any]:
        """Its trailing metadata."""
        return dict(self.error.trailing_metadata() or ())

    def _first(self, kind: M) -> M | None:
        for packed in () if self.status is None else self.status.details:
            if packed.Unpack(kind):
                return kind
        return None


async def failure(call: Any) -> Failure:
    """Await a unary call, or read a stream to its end, that must fail."""
    try:
        if isinstance(call, grpc.aio.UnaryStreamCall):
            async for _message in call:
                pass
        else:
            await call
    except grpc.aio.AioRpcError as error:
        return Failure(error)
    raise AssertionError("the call succeeded")


def raw(channel: Any, method: str) -> Any:
    """A unary method of bytes: what a stub would not send."""
    return channel.unary_unary(method)
