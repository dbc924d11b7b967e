from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.errors import AnswerFault, AttemptError, InvalidRequest, NotExpressible, Outcome, ProviderError
from fluxrpc.protocols.base import Answer, AnswerStream, ErrorView, Protocol, ReadRequest, StreamOptions
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.registry import NATIVE
from fluxrpc.protocols.translated_stream import Gatherer
from fluxrpc.protocols.translation import TranslatingBridge, view_of
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest
from fluxrpc.v1.response_pb2 import FINISH_REASON_STOP_SEQUENCE
from tests.support.fake_translator import END, READER_NOTE, USAGE, FakeTranslator, fault_of, text_of

OPTIONS = StreamOptions()


class World:
    """A caller and a target that speak fake protocols, and the bridge between them."""

    def __init__(self, words: str = "hi", *, typed: bool = False, strict: bool = False, top_k: bool = False) -> None:
        self.caller, self.target = FakeTranslator(), FakeTranslator()
        message = MessageRequest(messages=[Message(role=ROLE_USER, text=words)], top_k=3 if top_k else None)
        self.bridge = TranslatingBridge(
            ReadRequest(message=message, show_usage=False),
            None if typed else Protocol.ANTHROPIC,
            Target(protocol=Protocol.COHERE, model="m"),
            translators={Protocol.ANTHROPIC: self.caller, Protocol.COHERE: self.target},
            native=NATIVE[Protocol.COHERE],
            body=f"ask:{words}".encode(),
            version="v",
            strict=strict,
            now=5,
        )


# --- requests ---


def test_a_request_is_written_once_for_each_way_to_send_it() -> None:
    world = World()
    wire = world.bridge.wire(stream=False)
    assert (wire.path, wire.body) == ("whole", b"ask:hi")
    assert world.bridge.wire(stream=False) is wire
    assert world.bridge.wire(stream=True).path == "stream"
    first, second = world.target.contexts
    assert first is not second
    assert world.bridge.context is second
    assert (second.caller, second.target.model, second.now) == (Protocol.ANTHROPIC, "m", 5)
    assert (second.caller_version, second.show_usage, second.stream) == ("v", False, True)
    assert world.caller.readings == 0


def test_what_is_written_again_does_not_remember() -> None:
    world = World("stop")
    world.bridge.wire(stream=False)
    world.bridge.context.single_call = True
    world.bridge.wire(stream=True)
    assert not world.bridge.context.single_call
    assert world.bridge.context.stops == ("st",)


def test_notes_name_places_in_the_callers_body() -> None:
    world = World(top_k=True)
    world.bridge.wire(stream=False)
    assert [(note.path, note.code, note.reason) for note in world.bridge.notes] == [
        ("k", "TOP_K", "never heard of it"),
        ("sayv.metadata", "METADATA", "labels kept with the request"),
    ]
    assert world.caller.readings == 1


def test_the_body_is_not_read_again_for_single_fields() -> None:
    world = World("plain", top_k=True)
    world.bridge.wire(stream=False)
    assert ([note.path for note in world.bridge.notes], world.caller.readings) == (["k"], 0)


def test_notes_for_typed_callers_name_places_in_the_message() -> None:
    world = World(typed=True, top_k=True)
    world.bridge.wire(stream=False)
    assert [note.path for note in world.bridge.notes] == ["top_k", "messages[0].metadata"]
    assert world.caller.readings == 0


def test_strict_callers_do_not_accept_losses() -> None:
    world = World(strict=True, top_k=True)
    for _ in range(2):
        with pytest.raises(NotExpressible, match=r"^cohere \(m\) cannot say it: k: never heard of it$") as caught:
            world.bridge.wire(stream=False)
        assert [(each.path, each.message) for each in caught.value.violations] == [("k", "never heard of it")]
    assert World(strict=True).bridge.wire(stream=False).body == b"ask:hi"


@pytest.mark.parametrize(("words", "kind"), [("unsayable", NotExpressible), ("senseless", InvalidRequest)])
def test_what_cannot_be_written_at_all_is_placed_in_the_callers_body(
    words: str, kind: type[NotExpressible | InvalidRequest]
) -> None:
    with pytest.raises(kind) as caught:
        World(words).bridge.wire(stream=False)
    refusal: Any = caught.value
    assert [(each.path, each.message) for each in refusal.violations] == [("sayv.x", "no")]


def test_many_losses_are_counted() -> None:
    with pytest.raises(NotExpressible, match=r"; and 2 more$") as caught:
        World("image" * 10, strict=True).bridge.wire(stream=False)
    assert len(caught.value.violations) == 10


# --- whole answers ---


def test_a_whole_answer() -> None:
    answer = World().bridge.read_answer(b"ok:hello")
    assert (answer.body, answer.message, answer.usage) == (b"5:hello", None, USAGE)
    assert (answer.served_model, answer.refused) == ("served", False)
    assert [note.code for note in answer.notes] == ["MATCHED_STOP", "FINISH_DETAILS"]


def test_a_whole_answer_for_typed_callers() -> None:
    answer = World(typed=True).bridge.read_answer(b"refused:hello")
    assert answer.message is not None
    assert (answer.body, answer.message.choices[0].parts[0].text, answer.refused) == (b"", "hello", True)
    assert World().bridge.read_answer(b"free:").usage is None


def test_what_the_request_did_is_undone() -> None:
    world = World("stop")
    world.bridge.wire(stream=False)
    assert world.bridge.read_answer(b"ok:a stone").body == b"5:a "


# --- errors ---


def test_errors_come_in_the_callers_words() -> None:
    world = World()
    error = world.bridge.read_error(429, {"retry-after": "2"}, b'{"message":"slow down"}', now=0.0)
    assert isinstance(error, ProviderError)
    assert error.outcome is Outcome.LIMITED
    assert error.native is not None
    assert error.native.body == b"translated"
    (view,) = world.caller.views
    assert (view.http_status, view.message, view.retry_after_seconds) == (429, "slow down", 2.0)


def test_an_error_within_an_answer_too() -> None:
    world = World()
    for read in (world.bridge.read_answer, world.bridge.stream_of):
        with pytest.raises(ProviderError) as caught:
            read(b"error:why")
        assert caught.value.native is not None
        assert caught.value.native.body == b"translated"
    assert [view.message for view in world.caller.views] == ["why", "why"]


def test_typed_callers_get_the_providers_own() -> None:
    with pytest.raises(ProviderError) as caught:
        World(typed=True).bridge.read_answer(b"error:why")
    assert caught.value.native is not None
    assert caught.value.native.body == b"native"


def test_what_the_writer_of_an_error_is_told() -> None:
    assert view_of(fault_of("why")) == ErrorView(
        http_status=429, message="why", detail="RATE_LIMITED", code="slow", request_id="r1", retry_after_seconds=2.0
    )
    bare = view_of(ProviderError("SERVER", outcome=Outcome.MODEL, http_status=502))
    assert (bare.request_id, bare.message) == ("", "502 Bad Gateway")
    odd = view_of(ProviderError("SERVER", outcome=Outcome.MODEL, http_status=599))
    assert odd.message == "HTTP status 599"


# --- streams ---


def fed(stream: AnswerStream, *chunks: bytes) -> bytes:
    return b"".join(stream.feed(chunk).frames for chunk in chunks)


def test_a_stream() -> None:
    world = World()
    stream = world.bridge.open_stream(OPTIONS)
    assert (stream.finished, stream.finishes) == (False, ())
    assert fed(stream, b"<", b"a", b"b", b".") == b"ab|"
    assert (stream.finished, stream.finishes, stream.usage) == (True, [END], USAGE)
    assert (stream.served_model, stream.malformed) == ("served", 2)
    assert [note.code for note in stream.notes] == [READER_NOTE.code, "FINISH_DETAILS"]
    assert stream.close().error is None


def test_a_stream_for_typed_callers() -> None:
    stream = World(typed=True).bridge.open_stream(OPTIONS)
    batch = stream.feed(b"<ab.")
    assert (text_of(batch.events), batch.frames, batch.real, batch.ended) == ("ab", b"", True, True)


def test_a_cut_stream_has_no_end() -> None:
    stream = World().bridge.open_stream(OPTIONS)
    assert fed(stream, b"<a") == b"a"
    batch = stream.close()
    assert isinstance(batch.error, AnswerFault)
    assert batch.frames == b""


def test_an_error_in_a_stream_comes_in_the_callers_words() -> None:
    batch = World().bridge.open_stream(OPTIONS).feed(b"<a!")
    assert batch.frames == b"a"
    assert isinstance(batch.error, ProviderError)
    assert batch.error.native is not None
    assert batch.error.native.body == b"translated"


def test_a_stream_is_cut_where_it_must_be() -> None:
    world = World("stop")
    world.bridge.wire(stream=True)
    stream = world.bridge.open_stream(OPTIONS)
    batch = stream.feed(b"<as")
    assert (batch.frames, batch.ended, stream.finished) == (b"a", False, False)
    batch = stream.feed(b"tx!")
    assert (batch.frames, batch.ended, batch.error, stream.finished) == (b"|", True, None, True)
    assert batch.abandon
    assert [finish.reason for finish in stream.finishes] == [FINISH_REASON_STOP_SEQUENCE]
    for late in (stream.feed(b"!"), stream.close()):
        assert (late.frames, late.error, late.ended) == (b"", None, False)


def test_a_stream_that_is_not_cut_ends_as_its_provider_says() -> None:
    world = World("stop")
    world.bridge.wire(stream=True)
    stream = world.bridge.open_stream(OPTIONS)
    assert fed(stream, b"<as", b".") == b"as|"
    assert stream.finishes == [END]


# --- whole instead of streamed, and the other way round ---


def test_a_whole_answer_as_a_stream() -> None:
    stream, batch = World().bridge.stream_of(b"ok:hello")
    assert (batch.frames, batch.real, batch.ended, batch.error) == (b"hello|", True, True, None)
    assert (stream.served_model, stream.malformed, stream.usage, stream.finished) == ("served", 0, USAGE, True)
    assert stream.finishes == [END]
    assert [note.code for note in stream.notes] == ["MATCHED_STOP", "FINISH_DETAILS"]
    assert stream.feed(b"more").frames == b""
    assert World().bridge.stream_of(b"free:")[0].usage is None


def test_a_stream_as_a_whole_answer() -> None:
    world = World("stop")
    world.bridge.wire(stream=True)
    gatherer = world.bridge.gatherer(OPTIONS)
    assert not gatherer.feed(b"<as")
    assert not gatherer.finished
    assert gatherer.feed(b"t.")
    assert (gatherer.ended, gatherer.finished, gatherer.malformed) == (True, True, 2)
    answer = gatherer.close()
    assert (answer.body, answer.usage, answer.served_model) == (b"5:a", USAGE, "served")
    assert [note.code for note in answer.notes] == [READER_NOTE.code, "FINISH_DETAILS"]


@pytest.mark.parametrize(("chunk", "expected"), [(b"<a", "STREAM_CUT"), (b"<?", "MALFORMED_ANSWER")])
def test_a_stream_that_makes_no_answer(chunk: bytes, expected: str) -> None:
    def gather(gatherer: Gatherer) -> Answer:
        gatherer.feed(chunk)
        return gatherer.close()

    with pytest.raises(AttemptError) as caught:
        gather(World().bridge.gatherer(OPTIONS))
    assert caught.value.detail == expected


def test_an_error_while_a_stream_is_gathered() -> None:
    with pytest.raises(ProviderError) as caught:
        World().bridge.gatherer(OPTIONS).feed(b"<!")
    assert caught.value.native is not None
    assert caught.value.native.body == b"translated"
