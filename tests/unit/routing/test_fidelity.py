"""What the router does with routes that cannot say a request, and with what a translation notes. No translator: the
bridges are scripted, and pass through as native ones do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from fluxrpc.errors import CircuitOpen, InvalidRequest, NotExpressible, Outcome, ProviderFailed
from fluxrpc.protocols.base import Answer, AnswerStream, Batch, Protocol, StreamOptions, WireRequest
from fluxrpc.protocols.bridge import Bridge, CallerRequest, open_bridge, read_request
from fluxrpc.protocols.context import Target
from fluxrpc.routing import run
from fluxrpc.routing.options import CallOptions
from fluxrpc.routing.route import Route
from fluxrpc.routing.router import Router, RouterSettings
from fluxrpc.routing.table import RouteTable
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.upstream.media_fetch import Fetched, FetchSettings, MediaFetcher, Unfetchable
from fluxrpc.v1.outcome_pb2 import (
    BLAME_NOBODY,
    NOTE_ACTION_DROPPED,
    NOTE_ACTION_EMULATED,
    OUTCOME_PASSED_OVER,
    TranslationNote,
)
from tests.unit.routing.provider import DONE, FINISH, TEXT, FakeProviders, Scripted, error_body, failing, stream
from tests.unit.routing.world import World, meet

REQUEST = b'{"model":"asked","messages":[{"role":"user","content":"hi"}]}'
STRICT = CallOptions(strict=True)


class Seen(Hooks):
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:
        self.events.append(("attempt", route))

    def notes_made(self, caller: str | None, target: str, codes: Sequence[str]) -> None:
        self.events.append((caller, target, *codes))


class ScriptedBridge:
    """A native bridge that refuses to be written, or has notes."""

    def __init__(self, bridge: Bridge, refusal: Exception | None, code: str) -> None:
        self._bridge = bridge
        self._refusal = refusal
        self.notes: tuple[TranslationNote, ...] = ()
        if code:
            self.notes = (TranslationNote(path="top_k", action=NOTE_ACTION_DROPPED, code=code),)
        self.read_error = bridge.read_error
        self.gatherer = bridge.gatherer
        self.read_answer = bridge.read_answer
        self.open_stream = bridge.open_stream

        self.gatherer = bridge.gatherer

    def wire(self, *, stream: bool) -> WireRequest:
        if self._refusal is not None:
            raise self._refusal
        return self._bridge.wire(stream=stream)

    def stream_of(self, body: bytes) -> tuple[AnswerStream, Batch]:
        answer: Answer = self._bridge.read_answer(body)
        watch = self._bridge.open_stream(StreamOptions())
        batch = watch.feed(TEXT + FINISH)
        assert answer.usage is not None
        return watch, Batch(frames=batch.frames + DONE, real=True, ended=True)


class Here(World):
    def __init__(self, monkeypatch: pytest.MonkeyPatch, **scripts: Scripted | list[Scripted]) -> None:
        super().__init__()
        self.providers = FakeProviders(**scripts)
        self.hooks = Seen()
        self.refusals: dict[str, Exception] = {}
        self.codes: dict[str, str] = {}
        self.opened: list[str] = []
        self.router = Router(
            self.providers.pool(), hooks=self.hooks, clock=self.clock, wall_clock=lambda: 5.0, random=lambda: 0.5
        )
        monkeypatch.setattr(run, "bridge_to", self.bridge_to)

    def bridge_to(self, request: CallerRequest, route: Route, protocol: Protocol, **_: object) -> Bridge:
        name = route.desc.name
        self.opened.append(name)
        assert request.head is not None
        native = open_bridge(request, Target(protocol=Protocol.OPENAI, model=name))
        assert protocol in route.desc.endpoint.service.base_urls
        return ScriptedBridge(native, self.refusals.get(name), self.codes.get(name, ""))

    async def ask(self, *routes: Route, **options: Any) -> Any:
        table = RouteTable(routes, Protocol.OPENAI)
        return await self.router.execute(table, read_request(Protocol.OPENAI, REQUEST), **options)

    async def stream(self, *routes: Route, **options: Any) -> list[Any]:
        table = RouteTable(routes, Protocol.OPENAI)
        request = read_request(Protocol.OPENAI, REQUEST)
        return [item async for item in self.router.execute_stream(table, request, **options)]


async def test_a_route_that_cannot_say_it_is_passed_over_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(monkeypatch, b=Scripted())
    here.refusals["a"] = NotExpressible("no top_k", detail="lacks vision")
    route = here.route("a")
    result = await here.ask(route, here.route("b", priority=1), options=STRICT, max_attempts=1)
    passed, given = result.attempts
    assert (passed.route, passed.reason) == ("a", "LACKS_VISION")
    assert (passed.outcome, passed.blame, passed.start.seconds) == (OUTCOME_PASSED_OVER, BLAME_NOBODY, 5)
    assert given.route == "b"
    assert here.providers.seen == ["b"]
    assert here.hooks.events == [("attempt", "b")]  # what was not asked is no attempt, and no failure
    assert route.health.in_flight == 0


async def test_where_none_can_say_it_the_best_ones_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(monkeypatch)
    here.refusals = {"a": NotExpressible("first"), "b": NotExpressible("second")}
    for ask in (here.ask, here.stream):
        with pytest.raises(NotExpressible, match="first") as caught:
            await ask(here.route("a"), here.route("b", priority=1), options=STRICT)
        assert [attempt.route for attempt in caught.value.attempts] == ["a", "b"]
    assert here.providers.seen == []


async def test_what_is_shut_may_yet_be_able_to_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(monkeypatch)
    here.refusals["a"] = NotExpressible("no top_k")
    shut = here.route("b", priority=1)
    meet(shut, *[Outcome.MODEL] * 3)
    with pytest.raises(CircuitOpen):
        await here.ask(here.route("a"), shut, options=STRICT)
    here.refusals["b"] = NotExpressible("neither")
    with pytest.raises(NotExpressible, match="no top_k"):
        await here.ask(here.route("a"), shut, options=STRICT)


async def test_a_provider_that_failed_is_told_before_one_that_was_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(monkeypatch, b=failing(500, error_body("boom")))
    here.refusals["a"] = NotExpressible("no top_k")
    with pytest.raises(ProviderFailed) as caught:
        await here.ask(here.route("a"), here.route("b", priority=1), options=STRICT, max_attempts=1)
    assert [attempt.route for attempt in caught.value.attempts] == ["a", "b"]


async def test_a_request_that_nobody_could_write_is_the_callers_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(monkeypatch, b=Scripted())
    here.refusals["a"] = InvalidRequest.at("messages", "a list is expected")
    route = here.route("a")
    with pytest.raises(InvalidRequest):
        await here.ask(route, here.route("b", priority=1))
    assert (here.providers.seen, here.hooks.events, route.health.in_flight) == ([], [], 0)


async def test_one_bridge_for_each_route(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = failing(503, error_body("busy"))
    here = Here(monkeypatch, a=[busy, busy], b=Scripted())
    await here.ask(here.route("a"), here.route("b", priority=1, service="other"), max_attempts=9)
    assert here.providers.seen == ["a", "a", "b"]
    assert here.opened == ["a", "b"]


async def test_notes_are_told_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(monkeypatch, a=[Scripted(), stream(TEXT, b"data: {broken\n\n", FINISH + DONE)])
    here.codes["a"] = "TOP_K"
    route = here.route("a")
    result = await here.ask(route)
    assert [note.code for note in result.notes] == ["TOP_K"]
    started, *_, completed = await here.stream(route)
    assert [note.code for note in started.notes] == ["TOP_K"]
    assert [note.code for note in completed.notes] == ["MALFORMED_EVENT"]
    counted = [event for event in here.hooks.events if event[0] == "openai"]
    assert counted == [
        ("openai", "openai", "TOP_K"),
        ("openai", "openai", "TOP_K"),
        ("openai", "openai", "MALFORMED_EVENT"),
    ]


async def test_json_where_a_stream_was_asked_becomes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(monkeypatch, a=Scripted())
    route = here.route("a")
    _started, batch, completed = await here.stream(route)
    assert batch.frames == TEXT + FINISH + DONE
    assert [attempt.route for attempt in completed.attempts] == ["a"]
    assert route.health.in_flight == 0


class Web:
    """A fetcher that is on as soon as it is configured, and finds the same everywhere."""

    def __init__(self) -> None:
        self.is_on = False
        self.fetched: list[str] = []

    def configure(self, settings: FetchSettings | None) -> None:
        self.is_on = settings is not None

    async def fetch(self, url: str) -> Fetched:
        self.fetched.append(url)
        if url.endswith("gone"):
            raise Unfetchable("its server answers with status 404")
        return Fetched(mime_type="application/pdf", data=b"pdf")

    async def close(self) -> None:
        self.is_on = False


@pytest.mark.parametrize("is_on", [False, True])
async def test_media_by_url_are_fetched_once_and_only_where_that_is_on(is_on: bool) -> None:
    world, web = World(), Web()
    providers = FakeProviders(a=failing(500, error_body("boom")), b=[Scripted(), stream(TEXT, FINISH + DONE)])
    settings = RouterSettings(media=FetchSettings() if is_on else None)
    router = Router(providers.pool(), fetcher=cast("MediaFetcher", web), settings=settings, clock=world.clock)
    table = RouteTable([world.route("a"), world.route("b", priority=1, service="other")], Protocol.ANTHROPIC)
    result = await router.execute(table, _with_document("https://h/x.pdf"), max_attempts=9)
    fetched = [(note.code, note.path) for note in result.notes if note.action == NOTE_ACTION_EMULATED]
    assert web.fetched == ["https://h/x.pdf"] * is_on
    assert (b"data:application/pdf;base64,cGRm" in providers.requests[-1].body) is is_on
    assert bool(fetched) is is_on
    assert all(code == "DOCUMENT_URL" and path.startswith("messages[0].content[0]") for code, path in fetched)
    if is_on:
        with pytest.raises(InvalidRequest, match="404"):
            await router.execute(table, _with_document("https://h/gone"))
        router.configure(RouterSettings())
    await router.execute(table, _with_document("https://h/gone"))
    await router.close()


def _with_document(url: str) -> CallerRequest:
    document = {"type": "document", "source": {"type": "url", "url": url}}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [document]}]}
    return read_request(Protocol.ANTHROPIC, json.dumps(body).encode())


@pytest.mark.parametrize("caller", [Protocol.OPENAI, Protocol.COHERE])
async def test_headers_of_the_callers_protocol_stay_in_it(monkeypatch: pytest.MonkeyPatch, caller: Protocol) -> None:
    here = Here(monkeypatch, a=Scripted())
    here.endpoint("ant", Protocol.ANTHROPIC)
    options = CallOptions(headers=(("openai-project", "p"), ("x-client-request-id", "1")))
    crossed = RouteTable([here.route("a", service="ant")], caller)
    result = await here.router.execute(crossed, read_request(Protocol.OPENAI, REQUEST), options=options)
    sent = dict(here.providers.requests[0].headers)
    assert "openai-project" not in sent
    assert sent["x-client-request-id"] == "1"
    assert [(note.path, note.code) for note in result.notes] == [
        ("native.headers[openai-project]", "HEADER_NOT_ALLOWED")
    ]
