"""What counts as a complete stream, and what text() may give away."""

from __future__ import annotations

import pytest

from fluxrpc_client import AnswerRestarted, IncompleteStream
from fluxrpc_client.progress import Progress, texts_of
from fluxrpc_client.v1 import (
    Completed,
    Continued,
    Events,
    ExecuteStreamResponse,
    PartDelta,
    Restarted,
    RouteInfo,
    Started,
    StreamEvent,
)

STARTED = ExecuteStreamResponse(started=Started(request_id="r", route=RouteInfo(route="a")))
RESTARTED = ExecuteStreamResponse(restarted=Restarted(route=RouteInfo(route="b")))
CONTINUED = ExecuteStreamResponse(continued=Continued(route=RouteInfo(route="c")))
COMPLETED = ExecuteStreamResponse(completed=Completed())


def deltas(*pairs: tuple[int, str]) -> ExecuteStreamResponse:
    events = [StreamEvent(part_delta=PartDelta(choice_index=index, text=text)) for index, text in pairs]
    return ExecuteStreamResponse(events=Events(events=events))


def test_the_route_is_the_one_that_answers_now() -> None:
    progress = Progress()
    routes = []
    for message in (STARTED, deltas((0, "x")), RESTARTED, CONTINUED, COMPLETED):
        progress.take(message)
        routes.append(progress.route.route if progress.route else None)
    assert routes == ["a", "a", "b", "c", "c"]
    assert progress.started == STARTED.started
    assert progress.completed == COMPLETED.completed


def test_only_completed_makes_a_stream_complete() -> None:
    progress = Progress()
    with pytest.raises(IncompleteStream) as caught:
        progress.end()
    assert caught.value.request_id == ""
    progress.take(STARTED)
    with pytest.raises(IncompleteStream) as caught:
        progress.end()
    assert (caught.value.request_id, caught.value.reason) == ("r", "STREAM_INCOMPLETE")
    progress.take(COMPLETED)
    progress.end()


def test_a_kind_from_the_future_is_passed_over() -> None:
    progress = Progress()
    progress.take(ExecuteStreamResponse.FromString(b"\xfa\x01\x00"))  # field 31, unknown here
    assert progress == Progress()


def test_given_text_cannot_be_taken_back() -> None:
    progress = Progress()
    progress.refuse_restart(RESTARTED, given=False)
    progress.refuse_restart(CONTINUED, given=True)
    with pytest.raises(AnswerRestarted):
        progress.refuse_restart(RESTARTED, given=True)


def test_text_of_one_choice_only() -> None:
    message = deltas((0, "a"), (1, "b"), (0, ""), (0, "c"))
    message.events.events.add().finish.choice_index = 0
    assert list(texts_of(message, 0)) == ["a", "c"]
    assert list(texts_of(message, 1)) == ["b"]
    assert list(texts_of(STARTED, 0)) == []
    with pytest.raises(TypeError, match="native"):
        list(texts_of(ExecuteStreamResponse(native=b"data: x\n\n"), 0))
