"""What the router talks to: one `Bridge` joins what a caller asked with the protocol and model of one route.

It hides which codec halves are at work. A bridge serves one request on one route, for any number of attempts; the
state of a stream lives in the `AnswerStream` that it opens.
"""

from __future__ import annotations

from typing import Protocol as Interface

from msgspec import Struct

from fluxrpc.errors import AttemptError, InvalidRequest
from fluxrpc.ir.rules import misplaced_part, nameless_tool
from fluxrpc.protocols.base import (
    Answer,
    AnswerStream,
    Batch,
    Headers,
    NativeCodec,
    Protocol,
    ReadRequest,
    RequestHead,
    StreamOptions,
    WireOptions,
    WireRequest,
)
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.envelope import may_hold_envelope
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.notes import Places, locator
from fluxrpc.protocols.registry import NATIVE, TRANSLATORS
from fluxrpc.protocols.translated_stream import Gatherer
from fluxrpc.protocols.translation import TranslatingBridge
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import TranslationNote

__all__ = ["Bridge", "CallerRequest", "open_bridge", "read_request", "translating_bridge"]


class CallerRequest(Struct, kw_only=True):
    """What a caller asks: a native body of `protocol` with its head, or (`protocol` None) a typed `message`."""

    protocol: Protocol | None = None
    body: bytes = b""
    head: RequestHead | None = None
    message: MessageRequest | None = None
    version: str = ""
    """anthropic: the caller's `anthropic-version`."""
    _read: ReadRequest | None = None

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

    def read(self) -> ReadRequest:
        """The request in the IR; a native body is read once.

        Raises:
            InvalidRequest: it is not a body of its protocol.
        """
        if self._read is None:
            if self.message is not None:
                self._read = ReadRequest(message=self.message)
            elif self.protocol is not None:
                try:
                    self._read = TRANSLATORS[self.protocol].read_request(self.body, version=self.version)
                except JsonFault as fault:
                    raise InvalidRequest.at(fault.path, str(fault)) from None
                asked = self._read.message
                found = misplaced_part(asked.messages) or nameless_tool(asked)
                if found is not None:
                    raise InvalidRequest.at(self._place_of(found[0]), found[1])
            else:
                raise TypeError("a request has a typed message, or a protocol and a head")
        return self._read

    def _place_of(self, path: str) -> str:
        """Where a node of the IR stood in the body."""
        translator = TRANSLATORS[self.protocol]  # type: ignore[index]  # only native bodies are asked for places
        places: Places = {}
        translator.read_request(self.body, version=self.version, places=places)
        return locator(places, translator.fields)(path)


class Bridge(Interface):
    """One request on its way to one route, and the answer on its way back."""

    notes: tuple[TranslationNote, ...]
    """What writing the request changed; known after `wire`."""

    def wire(self, *, stream: bool) -> WireRequest:
        """The request for the provider.

        Raises:
            InvalidRequest: the caller's request cannot be written at all.
            NotExpressible: strict fidelity, and something would be lost.
        """

    def read_answer(self, body: bytes) -> Answer:
        """Read a 2xx unary answer; raises `AnswerFault` and `ProviderError` as the codecs do."""

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> AttemptError:
        """Classify a non-2xx answer. `now` is Unix time in seconds."""

    def open_stream(self, options: StreamOptions) -> AnswerStream:
        """A machine for one streamed answer. Whether the caller sees usage is the request's own business."""

    def stream_of(self, body: bytes) -> tuple[AnswerStream, Batch]:
        """A whole answer where a stream was asked for, as the stream that it stands for; raises as `read_answer`."""

    def gatherer(self, options: StreamOptions) -> Gatherer:
        """A machine that makes one whole answer of a stream, where a whole one was asked for."""


_WIRE_OPTIONS = {force_usage: WireOptions(force_usage=force_usage) for force_usage in (False, True)}


class _NativeBridge:
    """Bytes pass. Only an answer that is whole instead of streamed, or the other way round, is read and written."""

    __slots__ = ("_codec", "_head", "_request", "_target", "notes")

    def __init__(self, codec: NativeCodec, request: CallerRequest, head: RequestHead, target: Target) -> None:
        self._codec = codec
        self._request = request
        self._head = head
        self._target = target
        self.notes: tuple[TranslationNote, ...] = ()

    def wire(self, *, stream: bool) -> WireRequest:
        target = self._target
        options = _WIRE_OPTIONS[target.force_usage]
        return self._codec.write_wire(
            self._head, self._request.body, model=target.model, stream=stream, options=options
        )

    def read_answer(self, body: bytes) -> Answer:
        return self._codec.read_answer(body)

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> AttemptError:
        return self._codec.read_error(status, headers, body, now=now)

    def open_stream(self, options: StreamOptions) -> AnswerStream:
        return self._codec.watch(
            StreamOptions(show_usage=self._head.includes_usage, max_event_bytes=options.max_event_bytes)
        )

    def stream_of(self, body: bytes) -> tuple[AnswerStream, Batch]:
        return self._translating().stream_of(body)

    def gatherer(self, options: StreamOptions) -> Gatherer:
        return self._translating().gatherer(options)

    def _translating(self) -> TranslatingBridge:
        try:
            asked = self._request.read()
        except InvalidRequest:  # the provider has taken it; only echoes of its settings are lost
            asked = ReadRequest(message=MessageRequest(), show_usage=self._head.includes_usage)
        return _translating(self._request, asked, self._target)


def read_request(protocol: Protocol, body: bytes, *, version: str = "") -> CallerRequest:
    """Read a native body.

    Raises:
        InvalidRequest: see `NativeCodec.read_head`.
    """
    return CallerRequest(protocol=protocol, body=body, head=NATIVE[protocol].read_head(body), version=version)


def open_bridge(request: CallerRequest, target: Target, *, strict: bool = False, now: int = 0) -> Bridge:
    """The bridge for a request to a route.

    `strict` refuses what the route's protocol cannot say; `now` (Unix seconds) stands in answers that tell no time.
    Same protocol in and out: the bytes pass, unless an envelope of ours is among them (`envelope.may_hold_envelope`).

    Raises:
        InvalidRequest: the body is not one of its protocol.
    """
    if request.protocol == target.protocol and request.head is not None and not may_hold_envelope(request.body):
        return _NativeBridge(NATIVE[target.protocol], request, request.head, target)
    return translating_bridge(request, target, strict=strict, now=now)


def translating_bridge(
    request: CallerRequest, target: Target, *, strict: bool = False, now: int = 0
) -> TranslatingBridge:
    """A bridge that reads and writes also where both sides speak the same protocol: it brings bodies into our shape.

    Raises:
        InvalidRequest: the body is not one of its protocol.
    """
    return _translating(request, request.read(), target, strict=strict, now=now)


def _translating(
    request: CallerRequest, asked: ReadRequest, target: Target, *, strict: bool = False, now: int = 0
) -> TranslatingBridge:
    return TranslatingBridge(
        asked,
        request.protocol,
        target,
        translators=TRANSLATORS,
        native=NATIVE[target.protocol],
        body=request.body,
        version=request.version,
        strict=strict,
        now=now,
    )
