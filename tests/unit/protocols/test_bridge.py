from __future__ import annotations

import json

import pytest

from fluxrpc.errors import Outcome, ProviderError, TranslationMissing
from fluxrpc.protocols.base import Protocol, RequestHead, StreamOptions, WireOptions
from fluxrpc.protocols.bridge import (
    CallerRequest,
    native_bridge,
    open_bridge,
    read_request,
    typed_bridge,
)
from fluxrpc.protocols.registry import NATIVE
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest, ProviderState

HELLO = MessageRequest(messages=[Message(role=ROLE_USER, text="Hello")])
ANSWER = b'{"model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}'
USAGE_FRAME = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n'


def test_a_native_request() -> None:
    body = b'{"model":"fast","messages":[]}'
    request = read_request(Protocol.OPENAI, body)
    assert (request.model, request.holds_state) == ("fast", False)

    bridge = open_bridge(request, Protocol.OPENAI)

    wire = bridge.wire(model="m", stream=False, options=WireOptions())
    assert wire.body == b'{"model":"m","messages":[]}'
    assert bridge.notes == ()
    answer = bridge.read_answer(ANSWER)
    assert answer.body is ANSWER
    assert answer.message is None
    assert bridge.read_error(429, {}, b"", now=0.0).outcome is Outcome.LIMITED


@pytest.mark.parametrize("asked", [False, True])
def test_a_native_caller_sees_usage_only_if_he_asked(asked: bool) -> None:
    body = b'{"stream_options":{"include_usage":true}}' if asked else b"{}"
    stream = open_bridge(read_request(Protocol.OPENAI, body), Protocol.OPENAI).open_stream(StreamOptions())
    assert stream.feed(USAGE_FRAME).frames == (USAGE_FRAME if asked else b"")
    assert stream.usage is not None


def test_a_typed_request() -> None:
    request = CallerRequest(message=HELLO)
    assert (request.model, request.holds_state) == (None, False)
    bridge = open_bridge(request, Protocol.OPENAI)
    assert json.loads(bridge.wire(model="m", stream=False, options=WireOptions()).body)["model"] == "m"
    assert bridge.notes == ()
    message = bridge.read_answer(ANSWER).message
    assert message is not None
    assert message.choices[0].parts[0].text == "Hi"
    error = bridge.read_error(401, {}, b"", now=0.0)
    assert isinstance(error, ProviderError)
    assert error.outcome is Outcome.CREDENTIAL
    assert bridge.open_stream(StreamOptions()).feed(USAGE_FRAME).events


def test_typed_state_binds_to_an_account() -> None:
    state = MessageRequest(provider_state=ProviderState(previous_response_id="r"))
    assert CallerRequest(message=state).holds_state
    assert not CallerRequest().holds_state


def test_missing_translators_are_named() -> None:
    with pytest.raises(TranslationMissing, match="from cohere to openai"):
        open_bridge(read_request(Protocol.COHERE, b"{}"), Protocol.OPENAI)
    with pytest.raises(TranslationMissing, match="typed requests to gemini"):
        typed_bridge(HELLO, Protocol.GEMINI)


def test_a_request_that_is_neither_is_a_bug() -> None:
    with pytest.raises(TypeError):
        open_bridge(CallerRequest(), Protocol.OPENAI)


def test_every_protocol_has_a_native_half() -> None:
    assert set(NATIVE) == set(Protocol)
    for protocol, codec in NATIVE.items():
        assert codec.protocol is protocol
        head = RequestHead(model=None)
        assert native_bridge(protocol, b"", head).open_stream(StreamOptions()).close().error is not None
