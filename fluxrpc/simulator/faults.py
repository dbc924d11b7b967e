"""Every fault as steps of a connection. One table from the kind to the function that plays it; all of it pure.

Stream faults are edits of the list of frames. A stream fault on a unary request does what comes nearest: a cut or a
stall in the middle of the body, an error body, a broken body; where nothing is near, the healthy answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

from fluxrpc.simulator.ask import Problem, word_of_status
from fluxrpc.simulator.frames import Frame, dump, to_bytes
from fluxrpc.simulator.scene import (
    JSON,
    Item,
    Scene,
    play_body,
    play_items,
    play_ok,
    play_unary,
)
from fluxrpc.simulator.script import Act, Fault, Ok
from fluxrpc.simulator.steps import Cut, Data, Finish, Head, Step, Wait

_BLOCK_BYTES = 1 << 16
_HTML = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n"


def play(scene: Scene, act: Act) -> Iterator[Step]:
    """The steps of the act."""
    if isinstance(act, Ok):
        yield from play_ok(scene, act)
        return
    if act.delay_seconds:
        yield Wait(act.delay_seconds)
    if act.on != "any" and (act.on == "reused") != scene.is_reused:
        yield from play_ok(scene, act.answer)
        return
    yield from _PLAYERS.get(act.kind, play_problem)(scene, act)


def play_problem(scene: Scene, fault: Fault) -> Iterator[Step]:
    """The provider says no, with an HTTP status and its own words."""
    problem = _problem(scene, fault)
    if fault.kind == "content_filter" and scene.dialect.name == "gemini" and fault.status is None:
        # a blocked prompt is a 200 without candidates there, never an error status
        return play_ok(scene, Ok(finish="content_filter"))
    return play_error_body(scene, fault, problem, status=scene.dialect.status(problem))


def play_error_body(scene: Scene, fault: Fault, problem: Problem, *, status: int) -> Iterator[Step]:
    """An error body under any status, with the hints and headers of the fault."""
    ok = Ok(headers={**_hints(scene, fault), **fault.headers})
    body: Any = scene.dialect.error(problem)
    if not scene.ask.sse:
        body = [body]  # where a JSON array was to come, the error is its only element
    return play_body(scene, ok, dump(body).encode(), status=status)


def _problem(scene: Scene, fault: Fault) -> Problem:
    word = word_of_status(fault.status or 500) if fault.kind == "status" else str(fault.kind)
    return Problem(
        word=word,
        status=fault.status if fault.status or fault.kind != "status" else 500,
        message=fault.message,
        code=fault.code,
        retry_info_seconds=fault.retry_info_seconds,
        model=scene.ask.model,
    )


def _told(scene: Scene, fault: Fault) -> Problem:
    """The problem that is told inside a 200."""
    problem = Problem(word=fault.problem, message=fault.message, code=fault.code, model=scene.ask.model)
    return replace(problem, retry_info_seconds=fault.retry_info_seconds)


def _hints(scene: Scene, fault: Fault) -> dict[str, str]:
    hints: dict[str, str] = {}
    if fault.retry_after_seconds is not None:
        hints["retry-after"] = f"{fault.retry_after_seconds:g}"
    if fault.retry_after_date_seconds is not None:
        hints["retry-after"] = formatdate(scene.now + fault.retry_after_date_seconds, usegmt=True)
    if fault.retry_after_ms is not None:
        hints["retry-after-ms"] = str(fault.retry_after_ms)
    if fault.ratelimit_reset_seconds is not None:
        hints |= _reset_hint(scene, fault.ratelimit_reset_seconds)
    return hints


def _reset_hint(scene: Scene, seconds: float) -> dict[str, str]:
    if scene.dialect.name == "anthropic":
        moment = datetime.fromtimestamp(scene.now + seconds, UTC).isoformat().replace("+00:00", "Z")
        prefix = "anthropic-ratelimit-requests"
        return {f"{prefix}-reset": moment, f"{prefix}-remaining": "0"}
    duration = f"{round(seconds * 1000)}ms" if seconds < 1 else f"{seconds:g}s"
    return {"x-ratelimit-reset-requests": duration, "x-ratelimit-remaining-requests": "0"}


def _cut_now(scene: Scene, fault: Fault) -> Iterator[Step]:
    del scene
    yield Cut("reset" if fault.kind == "reset" else "close")


def _silence(scene: Scene, fault: Fault) -> Iterator[Step]:
    yield Wait(fault.seconds)
    yield from play_ok(scene, fault.answer)


def _headers_then_silence(scene: Scene, fault: Fault) -> Iterator[Step]:
    for step in play_ok(scene, fault.answer):
        yield step
        if isinstance(step, Head):
            yield Wait(fault.seconds)


def _error_in_200(scene: Scene, fault: Fault) -> Iterator[Step]:
    return play_error_body(scene, fault, _told(scene, fault), status=fault.status or 200)


def _empty(scene: Scene, fault: Fault) -> Iterator[Step]:
    ok = replace(fault.answer, headers={**fault.answer.headers, **fault.headers})
    if scene.ask.stream:
        return play_items(scene, ok, [])
    return play_body(scene, ok, b"")


def _html(scene: Scene, fault: Fault) -> Iterator[Step]:
    ok = Ok(headers=fault.headers)
    return play_body(scene, ok, _HTML, content_type="text/html; charset=utf-8", status=fault.status or 200)


def _truncated_json(scene: Scene, fault: Fault) -> Iterator[Step]:
    body = scene.unary_body(fault.answer)
    return play_body(scene, fault.answer, body[: len(body) // 2])


def _json_for_stream(scene: Scene, fault: Fault) -> Iterator[Step]:
    return play_unary(scene, fault.answer)


def _raw_body(scene: Scene, fault: Fault) -> Iterator[Step]:
    body = to_bytes(fault.data or "")
    ok = Ok(headers=fault.headers)
    return play_body(scene, ok, body, content_type=fault.content_type, status=fault.status or 200)


def _redirect(scene: Scene, fault: Fault) -> Iterator[Step]:
    ok = Ok(headers={"location": fault.location, **fault.headers})
    return play_body(scene, ok, b"", content_type="text/plain", status=fault.status or 307)


def _huge_headers(scene: Scene, fault: Fault) -> Iterator[Step]:
    return play_ok(scene, replace(fault.answer, headers={"x-huge": "h" * fault.n_bytes}))


def _huge_body(scene: Scene, fault: Fault) -> Iterator[Step]:
    return _huge_stream(scene, fault) if scene.ask.stream else _huge_unary(scene, fault)


def _huge_unary(scene: Scene, fault: Fault) -> Iterator[Step]:
    """A valid answer whose text alone has `n_bytes`; written block by block, never held."""
    mark = "@@huge@@"
    head, _, tail = scene.unary_body(Ok(fragments=(mark,))).partition(mark.encode())
    yield scene.head(fault.answer, JSON, length_bytes=len(head) + fault.n_bytes + len(tail))
    yield Data(head)
    for at in range(0, fault.n_bytes, _BLOCK_BYTES):
        yield Data(b"h" * min(_BLOCK_BYTES, fault.n_bytes - at))
    yield Data(tail)
    yield Finish()


def _huge_stream(scene: Scene, fault: Fault) -> Iterator[Step]:
    """The same content event again and again until the text has `n_bytes`."""
    piece = "h" * 1024
    count = max(1, fault.n_bytes // len(piece))

    def items() -> Iterator[Item]:
        for frame in scene.frames(Ok(fragments=(piece,))):
            for _ in range(count if frame.role == "content" else 1):
                yield frame

    return play_items(scene, fault.answer, items())


def split_frames(frames: list[Frame], after_events: int) -> tuple[list[Frame], list[Frame]]:
    """Up to the given number of content events, and the rest; 0: right before the first one, -1: nothing.

    With fewer content events than asked for, the first part ends after the last of them.
    """
    if after_events < 0:
        return [], frames
    places = [at for at, frame in enumerate(frames) if frame.role == "content"]
    if after_events < 1:
        at = places[0] if places else min(1, len(frames))
    else:
        at = places[min(after_events, len(places)) - 1] + 1 if places else min(1, len(frames))
    return frames[:at], frames[at:]


def _half_body(scene: Scene, fault: Fault, middle: Step) -> Iterator[Step]:
    body = scene.unary_body(fault.answer)
    half = len(body) // 2
    yield scene.head(fault.answer, JSON, length_bytes=len(body))
    yield Data(body[:half])
    yield middle
    yield Data(body[half:])
    yield Finish()


def _cut(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.stream:
        if fault.how == "end":
            return _truncated_json(scene, fault)
        return _half_body(scene, fault, Cut(fault.how))
    kept, _ = split_frames(scene.frames(fault.answer), fault.after_events)
    ending: list[Item] = [] if fault.how == "end" else [Cut(fault.how)]
    return play_items(scene, fault.answer, [*kept, *ending])


def _stall(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.stream:
        return _half_body(scene, fault, Wait(fault.seconds))
    kept, rest = split_frames(scene.frames(fault.answer), fault.after_events)
    return play_items(scene, fault.answer, [*kept, Wait(fault.seconds), *rest])


def _insert(scene: Scene, fault: Fault, extra: list[Frame]) -> Iterator[Step]:
    kept, rest = split_frames(scene.frames(fault.answer), fault.after_events)
    return play_items(scene, fault.answer, [*kept, *extra, *rest])


def _malformed(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.stream:
        body = scene.unary_body(fault.answer)
        return play_body(scene, fault.answer, to_bytes(fault.data or '{"mal') + body)
    kept, _ = split_frames(scene.frames(fault.answer), 1)
    broken = Frame(event=kept[-1].event, data=fault.data or '{"id":"broken","cho', role="opening")
    return _insert(scene, fault, [broken])


def _unknown_event(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.stream:
        body: Any = {**scene.dialect.unary(scene.ask, scene.answer(fault.answer)), "future_field": {"a": 1}}
        return play_body(scene, fault.answer, dump(body).encode())
    frame = scene.dialect.unknown_event
    return _insert(scene, fault, [replace(frame, data=fault.data) if fault.data else frame])


def _error_event(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.stream:
        return _error_in_200(scene, fault)
    kept, _ = split_frames(scene.frames(fault.answer), fault.after_events)
    return play_items(scene, fault.answer, [*kept, *scene.dialect.error_frames(_told(scene, fault))])


def _bare_error(scene: Scene, fault: Fault) -> Iterator[Step]:
    """The error as JSON of its own between the events, where a reader of events does not see it."""
    if not scene.ask.stream:
        return _error_in_200(scene, fault)
    kept, _ = split_frames(scene.frames(fault.answer), fault.after_events)
    bare = Frame(data=scene.dialect.error(_told(scene, fault)), role="bare")
    return play_items(scene, fault.answer, [*kept, bare])


def _failed_response(scene: Scene, fault: Fault) -> Iterator[Step]:
    """responses: an answer whose status is `failed`; elsewhere there is no such thing, and it is an error event."""
    if scene.dialect.failed is None:
        return _error_event(scene, fault)
    frame = scene.dialect.failed(scene.ask, scene.answer(fault.answer), _told(scene, fault))
    if not scene.ask.stream:
        return play_body(scene, fault.answer, dump(frame.data["response"]).encode())
    kept, _ = split_frames(scene.frames(fault.answer), fault.after_events)
    return play_items(scene, fault.answer, [*kept, frame])


def _prefill_rejected(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.prefill:
        return play_ok(scene, fault.answer)
    message = fault.message or "This model does not support assistant message prefill."
    return play_problem(scene, replace(fault, kind="bad_request", message=message))


def _no_terminator(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.stream:
        return play_unary(scene, fault.answer)
    kept: list[Item] = [frame for frame in scene.frames(fault.answer) if frame.role != "terminator"]
    ending: list[Item] = [] if fault.how == "end" else [Wait(fault.seconds)]
    return play_items(scene, fault.answer, [*kept, *ending])


def _ending(frames: list[Frame]) -> list[Frame]:
    """What ends a stream: its terminator, or where the protocol has none, its finish."""
    return [frame for frame in frames if frame.role == "terminator"] or frames[-1:]


def _duplicate_terminator(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.stream:
        return play_unary(scene, fault.answer)
    frames = scene.frames(fault.answer)
    return play_items(scene, fault.answer, [*frames, *_ending(frames)])


def _events_after_end(scene: Scene, fault: Fault) -> Iterator[Step]:
    if not scene.ask.stream:
        return play_unary(scene, fault.answer)
    frames = scene.frames(fault.answer)
    late = [frame for frame in frames if frame.role == "content"][-1:]
    return play_items(scene, fault.answer, [*frames, *late])


def _no_usage(scene: Scene, fault: Fault) -> Iterator[Step]:
    bare = replace(scene.answer(fault.answer), usage=None)
    if scene.ask.stream:
        return play_items(scene, fault.answer, scene.dialect.stream(scene.ask, bare))
    return play_body(scene, fault.answer, dump(scene.dialect.unary(scene.ask, bare)).encode())


_Player = Callable[[Scene, Fault], Iterator[Step]]
_PLAYERS: Mapping[str, _Player] = {
    "reset": _cut_now,
    "close": _cut_now,
    "silence": _silence,
    "headers_then_silence": _headers_then_silence,
    "error_in_200": _error_in_200,
    "empty": _empty,
    "html": _html,
    "truncated_json": _truncated_json,
    "json_for_stream": _json_for_stream,
    "raw_body": _raw_body,
    "redirect": _redirect,
    "huge_body": _huge_body,
    "huge_headers": _huge_headers,
    "cut": _cut,
    "stall": _stall,
    "malformed": _malformed,
    "no_terminator": _no_terminator,
    "error_event": _error_event,
    "duplicate_terminator": _duplicate_terminator,
    "events_after_end": _events_after_end,
    "no_usage": _no_usage,
    "unknown_event": _unknown_event,
    "bare_error": _bare_error,
    "failed_response": _failed_response,
    "prefill_rejected": _prefill_rejected,
}
