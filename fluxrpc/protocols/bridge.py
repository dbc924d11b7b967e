"""What the router talks to: one `Bridge` joins what a caller asked with the protocol of one route.

It hides which codec halves are at work. A bridge serves one request on one protocol, for any number of attempts; the
state of a stream lives in the `AnswerStream` that it opens.
"""

from __future__ import annotations

from typing import Protocol as Interface

from msgspec import Struct

from fluxrpc.errors import AttemptError, TranslationMissing
from fluxrpc.protocols.base import (
    Answer,
    AnswerStream,
    Headers,
    NativeCodec,
    Protocol,
    RequestHead,
    StreamOptions,
    TypedCodec,
    WireOptions,
    WireRequest,
)
from fluxrpc.protocols.registry import NATIVE, TYPED
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import TranslationNote


class CallerRequest(Struct, frozen=True, kw_only=True):
    """What a caller asks: a native body of `protocol` with its head, or (`protocol` None) a typed `message`."""

    protocol: Protocol | None = None
    body: bytes = b""
    head: RequestHead | None = None
    message: MessageRequest | None = None

    @property
    def model(self) -> str | None:
        """The model that the body names; None where it names none."""
        return self.head.model if self.head else None

    @property
    def holds_state(self) -> bool:
        """Whether it refers to state of one provider account, and so must not move to another."""
        if self.message is not None:
            return self.message.HasField("provider_state")
        return self.head is not None and self.head.holds_state


class Bridge(Interface):
    """One request on its way to one protocol, and the answer on its way back."""

    notes: tuple[TranslationNote, ...]
    """What writing the request changed; known after `wire`."""

    def wire(self, *, model: str, stream: bool, options: WireOptions) -> WireRequest:
        """The request for the provider.

        Raises:
            InvalidRequest: the caller's request cannot be written at all.
            TranslationMissing: it holds something that no translator can write yet.
        """

    def read_answer(self, body: bytes) -> Answer:
        """Read a 2xx unary answer; raises `AnswerFault` and `ProviderError` as the codecs do."""

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> AttemptError:
        """Classify a non-2xx answer. `now` is Unix time in seconds."""

    def open_stream(self, options: StreamOptions) -> AnswerStream:
        """A machine for one streamed answer. Whether the caller sees usage is the request's own business."""


class _NativeBridge:
    __slots__ = ("_body", "_codec", "_head", "notes")

    def __init__(self, codec: NativeCodec, body: bytes, head: RequestHead) -> None:
        self._codec = codec
        self._body = body
        self._head = head
        self.notes: tuple[TranslationNote, ...] = ()

    def wire(self, *, model: str, stream: bool, options: WireOptions) -> WireRequest:
        return self._codec.write_wire(self._head, self._body, model=model, stream=stream, options=options)

    def read_answer(self, body: bytes) -> Answer:
        return self._codec.read_answer(body)

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> AttemptError:
        return self._codec.read_error(status, headers, body, now=now)

    def open_stream(self, options: StreamOptions) -> AnswerStream:
        return self._codec.watch(
            StreamOptions(show_usage=self._head.includes_usage, max_event_bytes=options.max_event_bytes)
        )


class _TypedBridge:
    __slots__ = ("_codec", "_message", "_native", "notes")

    def __init__(self, codec: TypedCodec, native: NativeCodec, message: MessageRequest) -> None:
        self._codec = codec
        self._native = native
        self._message = message
        self.notes: tuple[TranslationNote, ...] = ()

    def wire(self, *, model: str, stream: bool, options: WireOptions) -> WireRequest:
        request, self.notes = self._codec.write_request(self._message, model=model, stream=stream, options=options)
        return request

    def read_answer(self, body: bytes) -> Answer:
        return self._codec.read_response(body)

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> AttemptError:
        return self._native.read_error(status, headers, body, now=now)

    def open_stream(self, options: StreamOptions) -> AnswerStream:
        return self._codec.read_stream(options)


def read_request(protocol: Protocol, body: bytes) -> CallerRequest:
    """Read a native body.

    Raises:
        InvalidRequest: see `NativeCodec.read_head`.
    """
    return CallerRequest(protocol=protocol, body=body, head=NATIVE[protocol].read_head(body))


def open_bridge(request: CallerRequest, target: Protocol) -> Bridge:
    """The bridge for a request to a route of protocol `target`.

    Raises:
        TranslationMissing: there is no translator between the two.
    """
    if request.message is not None:
        return typed_bridge(request.message, target)
    if request.protocol is None or request.head is None:
        raise TypeError("a request has a typed message, or a protocol and a head")
    if request.protocol != target:
        raise TranslationMissing(f"no translator from {request.protocol} to {target} yet")
    return native_bridge(request.protocol, request.body, request.head)


def native_bridge(protocol: Protocol, body: bytes, head: RequestHead) -> Bridge:
    """Same protocol in and out."""
    return _NativeBridge(NATIVE[protocol], body, head)


def typed_bridge(message: MessageRequest, target: Protocol) -> Bridge:
    """A typed request to a route of protocol `target`.

    Raises:
        TranslationMissing: there is no typed codec for it.
    """
    codec = TYPED.get(target)
    if codec is None:
        raise TranslationMissing(f"no translator from typed requests to {target} yet")
    return _TypedBridge(codec, NATIVE[target], message)
