from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from fluxrpc.errors import InvalidRequest, Outcome, ProviderError
from fluxrpc.protocols import bridge as module
from fluxrpc.protocols.base import Protocol, RequestHead, StreamOptions, Translator
from fluxrpc.protocols.bridge import Bridge, CallerRequest, open_bridge, read_request
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.envelope import seal
from fluxrpc.protocols.registry import NATIVE, TRANSLATORS
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest, ProviderState
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_SIGNATURE, PROTOCOL_GEMINI, OpaqueState
from tests.support.fake_translator import FakeTranslator

HELLO = MessageRequest(messages=[Message(role=ROLE_USER, text="Hello")])
ANSWER = b'{"model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}'
USAGE_FRAME = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n'
OPENAI = Target(protocol=Protocol.OPENAI, model="m")


@pytest.fixture(name="fakes")
def _fakes(monkeypatch: pytest.MonkeyPatch) -> Mapping[Protocol, FakeTranslator]:
    fakes = {protocol: FakeTranslator() for protocol in Protocol}
    monkeypatch.setattr(module, "TRANSLATORS", fakes)
    return fakes


def asked(words: str, protocol: Protocol = Protocol.ANTHROPIC) -> CallerRequest:
    """A request whose body only the fakes read."""
    return CallerRequest(protocol=protocol, body=words.encode(), head=RequestHead(model="fast"), version="-v")


def test_a_native_request_passes() -> None:
    request = read_request(Protocol.OPENAI, b'{"model":"fast","messages":[]}')
    assert (request.model, request.holds_state) == ("fast", False)
    bridge = open_bridge(request, OPENAI)
    assert bridge.wire(stream=False).body == b'{"model":"m","messages":[]}'
    assert bridge.notes == ()
    answer = bridge.read_answer(ANSWER)
    assert answer.body is ANSWER
    assert answer.message is None
    assert bridge.read_error(429, {}, b"", now=0.0).outcome is Outcome.LIMITED


@pytest.mark.parametrize("force_usage", [False, True])
def test_usage_is_asked_for_where_the_service_takes_it(force_usage: bool) -> None:
    target = Target(protocol=Protocol.OPENAI, model="m", force_usage=force_usage)
    wire = open_bridge(read_request(Protocol.OPENAI, b'{"model":"fast"}'), target).wire(stream=True)
    assert (b"include_usage" in wire.body) is force_usage


@pytest.mark.parametrize("wants", [False, True])
def test_a_native_caller_sees_usage_only_if_he_asked(wants: bool) -> None:
    body = b'{"stream_options":{"include_usage":true}}' if wants else b"{}"
    stream = open_bridge(read_request(Protocol.OPENAI, body), OPENAI).open_stream(StreamOptions())
    assert stream.feed(USAGE_FRAME).frames == (USAGE_FRAME if wants else b"")
    assert stream.usage is not None


def native(words: str) -> Bridge:
    return open_bridge(asked(words, Protocol.OPENAI), OPENAI)


@pytest.mark.parametrize("words", ["ask:hi", "what the reader refuses"])
def test_a_whole_native_answer_as_a_stream(fakes: Mapping[Protocol, FakeTranslator], words: str) -> None:
    _, batch = native(words).stream_of(b"ok:hello")
    assert (batch.frames, batch.ended) == (b"hello|", True)
    context = fakes[Protocol.OPENAI].contexts[-1]
    assert (context.caller, context.show_usage) == (Protocol.OPENAI, False)
    with pytest.raises(ProviderError):
        native(words).stream_of(b"error:why")


def test_a_native_stream_as_a_whole_answer(fakes: Mapping[Protocol, FakeTranslator]) -> None:
    gatherer = native("ask:hi").gatherer(StreamOptions())
    assert gatherer.feed(b"<ab.")
    assert gatherer.close().body == b"0:ab"
    assert fakes[Protocol.OPENAI].contexts[-1].request.messages[0].text == "hi"


def test_a_translated_request(fakes: Mapping[Protocol, FakeTranslator]) -> None:
    request = asked("ask:top_k")
    bridge = open_bridge(request, OPENAI, now=7)
    assert bridge.wire(stream=False).body == b"ask:top_k"
    assert [note.path for note in bridge.notes] == ["k", "say-v.metadata"]
    assert bridge.read_answer(b"ok:hello").body == b"7:hello"
    assert fakes[Protocol.ANTHROPIC].readings == 2, "once for the request, once for the places"
    open_bridge(request, OPENAI).wire(stream=False)
    assert fakes[Protocol.ANTHROPIC].readings == 3, "a request is read once for all routes"


def test_a_typed_request(fakes: Mapping[Protocol, FakeTranslator]) -> None:
    request = CallerRequest(message=MessageRequest(messages=HELLO.messages, top_k=3))
    assert (request.model, request.holds_state) == (None, False)
    bridge = open_bridge(request, OPENAI)
    assert bridge.wire(stream=False).body == b"ask:Hello"
    assert [note.path for note in bridge.notes] == ["top_k", "messages[0].metadata"]
    message = bridge.read_answer(b"ok:Hi").message
    assert message is not None
    assert message.choices[0].parts[0].text == "Hi"
    assert bridge.open_stream(StreamOptions()).feed(b"<a").events
    assert not any(fake.readings for fake in fakes.values())


@pytest.mark.usefixtures("fakes")
def test_a_body_that_is_not_of_its_protocol() -> None:
    with pytest.raises(InvalidRequest) as caught:
        open_bridge(asked("tell:hi"), OPENAI)
    assert [(each.path, each.message) for each in caught.value.violations] == [("say", "a question is expected")]


def test_state_binds_to_an_account() -> None:
    state = MessageRequest(provider_state=ProviderState(previous_response_id="r"))
    assert CallerRequest(message=state).holds_state
    assert not CallerRequest().holds_state
    assert read_request(Protocol.RESPONSES, b'{"previous_response_id":"r"}').holds_state


def test_a_request_that_is_neither_is_a_bug() -> None:
    with pytest.raises(TypeError):
        open_bridge(CallerRequest(), OPENAI)


def test_every_protocol_has_both_halves() -> None:
    assert set(NATIVE) == set(TRANSLATORS) == set(Protocol)
    for protocol, codec in NATIVE.items():
        translator: Translator = TRANSLATORS[protocol]
        assert codec.protocol is translator.protocol is protocol
        request = CallerRequest(protocol=protocol, head=RequestHead(model=None))
        stream = open_bridge(request, Target(protocol=protocol, model="m"))
        assert stream.open_stream(StreamOptions()).close().error is not None


def test_a_part_that_its_role_cannot_speak_is_the_callers_fault() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    turns = [{"role": "user", "content": [{"type": "text", "text": "Hi"}, call]}]
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": turns}).encode()
    with pytest.raises(InvalidRequest) as caught:
        read_request(Protocol.ANTHROPIC, body).read()
    [violation] = caught.value.violations
    assert (violation.path, violation.message) == (
        "messages[0].content[1]",
        "a tool call cannot stand in this message",
    )


def test_state_of_another_provider_never_reaches_this_one() -> None:
    """An earlier answer came from elsewhere and left its state in the conversation, in an envelope of ours."""
    state = OpaqueState(origin=PROTOCOL_GEMINI, kind=OPAQUE_KIND_SIGNATURE, service="g", value=b"abc")
    thought = {"type": "thinking", "thinking": "hm", "signature": seal(state)}
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Hello"}]},
        {"role": "user", "content": "Why?"},
    ]
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": turns}).encode()
    bridge = open_bridge(read_request(Protocol.ANTHROPIC, body), Target(protocol=Protocol.ANTHROPIC, model="m"))
    wire = bridge.wire(stream=False)
    assert b"gw1." not in wire.body
    assert b"Hello" in wire.body
    assert [note.path for note in bridge.notes]
