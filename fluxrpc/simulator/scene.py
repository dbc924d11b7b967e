"""From an act to the steps of a connection: healthy answers, and the drawing of frames as bytes.

Pure: the moment and the serial number are given. `faults` edits what is built here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fluxrpc.simulator.answer import Answer, compose
from fluxrpc.simulator.ask import Ask
from fluxrpc.simulator.dialects.base import Dialect
from fluxrpc.simulator.frames import Frame, dump, frame_bytes, to_bytes
from fluxrpc.simulator.script import Ok, Shape
from fluxrpc.simulator.steps import Cut, Data, Finish, Head, Step, Wait, compress, split

Item = Frame | Wait | Cut
EVENT_STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One request that is being answered."""

    dialect: Dialect
    ask: Ask
    serial: int
    now: float
    """Seconds since the epoch."""
    is_reused: bool
    """The connection has served a request before."""

    def answer(self, ok: Ok) -> Answer:
        """The answer in neutral words."""
        return compose(ok, self.ask, serial=self.serial, created=int(self.now))

    def frames(self, ok: Ok) -> list[Frame]:
        """The whole healthy stream."""
        return self.dialect.stream(self.ask, self.answer(ok))

    def unary_body(self, ok: Ok) -> bytes:
        """The whole healthy answer in one piece."""
        return to_bytes(dump(self.dialect.unary(self.ask, self.answer(ok))))

    def head(self, ok: Ok, content_type: str, *, status: int = 200, length_bytes: int | None = None) -> Head:
        """Status and headers; those of the act win over the usual ones."""
        usual = {"content-type": content_type, **self.dialect.headers(self.serial)}
        if content_type == EVENT_STREAM:
            usual["cache-control"] = "no-cache"
        headers = {**usual, **{name.lower(): value for name, value in ok.headers.items()}}
        return Head(status=status, headers=tuple(headers.items()), length_bytes=length_bytes)


def play_ok(scene: Scene, ok: Ok) -> Iterator[Step]:
    """A healthy answer, as a stream if one was asked for."""
    if scene.ask.stream:
        return play_items(scene, ok, scene.frames(ok))
    return play_unary(scene, ok)


def play_unary(scene: Scene, ok: Ok) -> Iterator[Step]:
    """A healthy answer in one piece."""
    return play_body(scene, ok, scene.unary_body(ok))


def play_body(scene: Scene, ok: Ok, body: bytes, *, content_type: str = JSON, status: int = 200) -> Iterator[Step]:
    """Any body with its length in front."""
    head = scene.head(ok, content_type, status=status, length_bytes=len(body))
    steps: list[Step] = [head, Data(body), Finish()]
    if ok.pace.before_first_event_seconds:
        steps.insert(1, Wait(ok.pace.before_first_event_seconds))
    return _shaped(ok, steps)


def play_items(scene: Scene, ok: Ok, items: Iterable[Item]) -> Iterator[Step]:
    """A stream of frames, with waits and cuts between them."""
    return _shaped(ok, _stream_steps(scene, ok, items))


def _shaped(ok: Ok, steps: Iterable[Step]) -> Iterator[Step]:
    if ok.pace.before_headers_seconds:
        yield Wait(ok.pace.before_headers_seconds)
    if ok.shape.encoding:
        steps = compress(steps, ok.shape.encoding)
    if ok.shape.split_bytes:
        steps = split(steps, ok.shape.split_bytes)
    yield from steps


def _stream_steps(scene: Scene, ok: Ok, items: Iterable[Item]) -> Iterator[Step]:
    is_array = not scene.ask.sse
    yield scene.head(ok, JSON if is_array else EVENT_STREAM)
    prefix = b"[" if is_array else _BOM if ok.shape.bom else b""
    has_content = False
    for item in items:
        if not isinstance(item, Frame):
            yield item
            continue
        if item.role == "content":
            before = _between(ok) if has_content else _before_first(scene, ok)
            has_content = True
            for step in before:
                if isinstance(step, Data):
                    yield Data(prefix + step.body)
                    prefix = b""
                else:
                    yield step
        body = _array_item(item) if is_array else frame_bytes(item, ok.shape)
        yield Data(prefix + body, int(item.role == "content"))
        prefix = b",\r\n" if is_array else b""
    if is_array:
        yield Data(b"]")
    yield Finish()


def _array_item(frame: Frame) -> bytes:
    text = frame.data if isinstance(frame.data, str) else dump(frame.data)
    return to_bytes(text)


def _between(ok: Ok) -> list[Step]:
    return [Wait(ok.pace.between_events_seconds)] if ok.pace.between_events_seconds else []


def _before_first(scene: Scene, ok: Ok) -> Iterator[Step]:
    """Comments, pings and the wait for the first token."""
    comment = Frame(data="keep-alive", role="comment")
    ping = scene.dialect.ping or comment
    frames = [*[comment] * ok.shape.comments, *[ping] * ok.shape.pings] if scene.ask.sse else []
    shape: Shape = replace(ok.shape, multiline=False)
    for frame in frames:
        if ok.shape.ping_seconds:
            yield Wait(ok.shape.ping_seconds)
        yield Data(frame_bytes(frame, shape))
    if ok.pace.before_first_event_seconds:
        yield Wait(ok.pace.before_first_event_seconds)
