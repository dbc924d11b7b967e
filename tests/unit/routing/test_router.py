"""The router over providers in memory: what is tried, what is settled, what the caller gets. No socket, no sleep."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from fluxrpc.errors import (
    AnswerFault,
    AnswerTooLarge,
    CircuitOpen,
    ContextLengthExceeded,
    CredentialFailed,
    DeadlineExceeded,
    LocalFault,
    NetworkFault,
    Outcome,
    ProviderFailed,
    ProviderRejected,
    RateLimited,
    SilenceFault,
    StaleConnection,
    StateNotPortable,
    StreamInterrupted,
)
from fluxrpc.protocols.base import Batch, Protocol
from fluxrpc.protocols.bridge import CallerRequest, read_request
from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.routing.options import CallOptions
from fluxrpc.routing.route import Route
from fluxrpc.routing.router import Result, Router, StreamCompleted, StreamStarted
from fluxrpc.routing.table import RouteTable
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.v1 import outcome_pb2 as wire
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest, ProviderState
from tests.unit.routing.provider import (
    ANSWER,
    DONE,
    FINISH,
    FOREVER,
    OPENING,
    TEXT,
    FakeProviders,
    Scripted,
    error_body,
    failing,
    stream,
)
from tests.unit.routing.world import World, meet

REQUEST = b'{"model":"asked","messages":[{"role":"user","content":"hi"}]}'
GOOD_STREAM = stream(OPENING, TEXT, FINISH + DONE)


class Seen(Hooks):
    """Hooks that remember."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:
        self.events.append(("attempt", route, outcome))

    def failed_over(self, from_route: str, to_route: str) -> None:
        self.events.append(("failover", from_route, to_route))

    def stream_committed(self, route: str, seconds: float) -> None:
        self.events.append(("committed", route))


class Here(World):
    """A router over scripted providers, with a clock that only sleeping moves."""

    def __init__(self, **scripts: Scripted | list[Scripted]) -> None:
        super().__init__()
        self.providers = FakeProviders(**scripts)
        self.slept: list[float] = []
        self.hooks = Seen()
        self.router = Router(
            self.providers.pool(),
            hooks=self.hooks,
            clock=self.clock,
            wall_clock=lambda: 1_790_000_000.5,
            random=lambda: 0.5,
            sleep=self.sleep,
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def ask(self, *routes: Route, request: CallerRequest | None = None, **options: Any) -> Result:
        table = RouteTable(routes, Protocol.OPENAI)
        return await self.router.execute(table, request or read_request(Protocol.OPENAI, REQUEST), **options)

    async def stream(self, *routes: Route, into: list[Any] | None = None, **options: Any) -> list[Any]:
        """All items; in `into` also those before an error."""
        table = RouteTable(routes, Protocol.OPENAI)
        items = [] if into is None else into
        async for item in self.router.execute_stream(table, read_request(Protocol.OPENAI, REQUEST), **options):
            items.append(item)  # what came before an error must stay
        return items


def outcomes(attempts: Any) -> list[tuple[str, str]]:
    return [(a.route, wire.Outcome.Name(a.outcome).removeprefix("OUTCOME_").lower()) for a in attempts]


async def test_an_answer_with_its_route_usage_and_attempt() -> None:
    here = Here(a=Scripted())
    route = here.route("a")
    result = await here.ask(route)
    assert result.route is route
    assert result.response.body == ANSWER
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (3, 2)
    (attempt,) = result.attempts
    assert (attempt.route, attempt.http_status, attempt.blame) == ("a", 200, wire.BLAME_NOBODY)
    assert (attempt.start.seconds, attempt.start.nanos) == (1_790_000_000, 500_000_000)
    assert route.health.in_flight == 0
    assert route.health.latency_seconds.value == 0.0
    assert here.providers.exchanges[0].closed


async def test_the_request_carries_the_key_and_the_callers_headers() -> None:
    here = Here(a=Scripted())
    await here.ask(here.route("a", key="sk-1"), options=CallOptions(headers=(("openai-project", "p"),)))
    (request,) = here.providers.requests
    assert dict(request.headers)["authorization"] == "Bearer sk-1"
    assert dict(request.headers)["openai-project"] == "p"
    assert request.url == "http://svc.test/v1/chat/completions"
    assert request.body == REQUEST.replace(b"asked", b"a")


async def test_no_key_sends_no_auth_header() -> None:
    here = Here(a=Scripted())
    await here.ask(here.route("a", key=""))
    assert "authorization" not in dict(here.providers.requests[0].headers)


async def test_a_500_is_tried_once_more_and_then_fails_over() -> None:
    here = Here(a=failing(500, error_body("boom")), b=Scripted())
    result = await here.ask(here.route("a"), here.route("b", priority=1, service="other"))
    assert outcomes(result.attempts) == [("a", "model"), ("a", "model"), ("b", "ok")]
    assert here.slept == [pytest.approx(0.05)]
    assert ("failover", "a", "b") in here.hooks.events


@pytest.mark.parametrize("status", [408, 409, 425])
async def test_what_may_pass_is_tried_again_and_is_not_the_callers_fault(status: int) -> None:
    here = Here(a=[failing(status, error_body("later")), Scripted()])
    assert outcomes((await here.ask(here.route("a"))).attempts) == [("a", "caller"), ("a", "ok")]
    here = Here(a=failing(status, error_body("later")))
    with pytest.raises(ProviderFailed):
        await here.ask(here.route("a"))


async def test_a_hint_is_waited_for() -> None:
    here = Here(a=[failing(429, error_body("slow", "rate_limit_exceeded"), retry_after="2"), Scripted()])
    result = await here.ask(here.route("a"))
    assert outcomes(result.attempts) == [("a", "limited"), ("a", "ok")]
    assert here.slept == [pytest.approx(2.0)]


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        (failing(400, error_body("bad", "unsupported_value")), ProviderRejected, "INVALID_REQUEST"),
        (
            failing(400, error_body("too long", "context_length_exceeded")),
            ContextLengthExceeded,
            "CONTEXT_LENGTH_EXCEEDED",
        ),
        (failing(401, error_body("key sk-live-1", "invalid_api_key")), CredentialFailed, "PROVIDER_CREDENTIAL"),
        (failing(429, error_body("slow", "rate_limit_exceeded")), RateLimited, "RATE_LIMITED"),
        (failing(404, error_body("no model", "model_not_found")), ProviderFailed, "PROVIDER_FAILED"),
        (Scripted(fault=NetworkFault("connection refused")), ProviderFailed, "PROVIDER_FAILED"),
        (Scripted(fault=SilenceFault("no response")), ProviderFailed, "PROVIDER_FAILED"),
        (Scripted(fault=LocalFault("out of local resources")), ProviderFailed, "PROVIDER_FAILED"),
        (Scripted(body=[b"<html>"]), ProviderFailed, "PROVIDER_FAILED"),
        (Scripted(body=[b"{" * 40_000_000]), AnswerTooLarge, "TOO_LARGE"),
    ],
)
async def test_what_the_caller_is_told(answer: Scripted, error: type[Exception], reason: str) -> None:
    here = Here(a=answer)
    route = here.route("a")
    with pytest.raises(error) as caught:
        await here.ask(route, max_attempts=1)
    assert caught.value.reason == reason  # type: ignore[attr-defined]
    assert len(caught.value.attempts) == 1  # type: ignore[attr-defined]
    assert "sk-live-1" not in str(caught.value)
    assert route.health.in_flight == 0


async def test_of_several_faults_the_sick_provider_is_told() -> None:
    here = Here(a=failing(401, error_body("no")), b=failing(500, error_body("boom")))
    with pytest.raises(ProviderFailed):
        await here.ask(here.route("a", key="1"), here.route("b", key="2", priority=1), max_attempts=2)


async def test_shut_doors_make_no_attempt() -> None:
    here = Here(a=Scripted())
    route = here.route("a")
    meet(route, Outcome.NETWORK)
    with pytest.raises(CircuitOpen) as caught:
        await here.ask(route)
    assert caught.value.retry_after_seconds == pytest.approx(5.0)
    assert caught.value.attempts == ()
    assert here.providers.seen == []


async def test_doors_shut_by_a_hint_or_a_key_are_told_as_such() -> None:
    here = Here(a=Scripted(), b=Scripted())
    limited, rejected = here.route("a"), here.route("b", key="bad")
    meet(limited, Outcome.LIMITED, retry_after_seconds=60)
    meet(rejected, Outcome.CREDENTIAL)
    with pytest.raises(RateLimited) as caught:
        await here.ask(limited)
    assert caught.value.retry_after_seconds == pytest.approx(60)
    with pytest.raises(CredentialFailed):
        await here.ask(rejected)


async def test_a_stale_connection_is_replaced_without_blame() -> None:
    here = Here(a=[Scripted(fault=StaleConnection("kept connection was dead")), Scripted()])
    result = await here.ask(here.route("a"))
    assert outcomes(result.attempts) == [("a", "ok")]
    assert [request.fresh_connection for request in here.providers.requests] == [False, True]


async def test_a_fresh_connection_that_dies_too_is_the_networks_fault() -> None:
    here = Here(a=Scripted(fault=StaleConnection("kept connection was dead")))
    route = here.route("a")
    with pytest.raises(ProviderFailed) as caught:
        await here.ask(route)
    assert outcomes(caught.value.attempts) == [("a", "network")]
    assert route.endpoint_breaker.state is BreakerState.OPEN


async def test_a_door_that_shuts_while_waiting_is_seen() -> None:
    here = Here(a=failing(500, error_body("boom")), b=Scripted())
    a, b = here.route("a"), here.route("b", priority=1, service="other")
    here.providers.on_send = lambda model: meet(a, Outcome.NETWORK) if model == "a" else None
    result = await here.ask(a, b)
    assert here.providers.seen == ["a", "b"]
    assert outcomes(result.attempts) == [("a", "model"), ("b", "ok")]


async def test_the_deadline_ends_an_attempt_and_blames_nobody() -> None:
    here = Here(a=Scripted(hangs=True))
    route = here.route("a")
    with pytest.raises(DeadlineExceeded) as caught:
        await here.ask(route, options=CallOptions(ends_at=here.now + 0.3))
    assert outcomes(caught.value.attempts) == [("a", "abandoned")]
    assert (route.breaker.state, route.endpoint_breaker.state) == (BreakerState.CLOSED, BreakerState.CLOSED)
    assert route.health.in_flight == 0


async def test_too_little_time_makes_no_attempt() -> None:
    here = Here(a=Scripted())
    with pytest.raises(DeadlineExceeded):
        await here.ask(here.route("a"), options=CallOptions(ends_at=here.now + 0.2))
    assert here.providers.seen == []


async def test_an_attempt_limit_is_the_models_fault() -> None:
    here = Here(a=Scripted(hangs=True), b=Scripted())
    result = await here.ask(here.route("a"), here.route("b", priority=1), options=CallOptions(attempt_seconds=0.01))
    assert outcomes(result.attempts) == [("a", "model"), ("b", "ok")]
    assert result.attempts[0].reason == "ATTEMPT_TIMEOUT"


async def test_a_cancelled_call_gives_everything_back() -> None:
    here = Here(a=Scripted(hangs=True))
    route = here.route("a")
    sent = asyncio.Event()
    here.providers.on_send = lambda _model: sent.set()
    task = asyncio.create_task(here.ask(route))
    await sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert route.health.in_flight == 0
    assert here.hooks.events == [("attempt", "a", Outcome.ABANDONED)]


async def test_provider_state_never_moves() -> None:
    here = Here(a=failing(500, error_body("boom")), b=Scripted())
    request = CallerRequest(
        message=MessageRequest(
            messages=[Message(role=ROLE_USER, text="hi")], provider_state=ProviderState(container_id="x")
        )
    )
    with pytest.raises(StateNotPortable):
        await here.ask(here.route("a"), here.route("b", priority=1, service="other"), request=request)
    assert "b" not in here.providers.seen


async def test_a_typed_request_gets_a_typed_answer() -> None:
    here = Here(a=Scripted())
    request = CallerRequest(message=MessageRequest(messages=[Message(role=ROLE_USER, text="hi")]))
    result = await here.ask(here.route("a"), request=request)
    assert result.response.message is not None
    assert result.response.message.choices[0].parts[0].text == "hi"


# ------------------------------------------------------------------------------------------------ streams


async def test_a_stream_starts_with_its_first_real_event_and_ends_complete() -> None:
    here = Here(a=GOOD_STREAM)
    route = here.route("a")
    started, *batches, completed = await here.stream(route)
    assert isinstance(started, StreamStarted)
    assert started.headers == (("x-request-id", "r1"),)
    assert started.served_model == "served"
    assert batches[0].frames == OPENING + TEXT
    assert b"".join(batch.frames for batch in batches) == OPENING + TEXT + FINISH + DONE
    assert isinstance(completed, StreamCompleted)
    assert [finish.raw for finish in completed.finishes] == ["stop"]
    assert outcomes(completed.attempts) == [("a", "ok")]
    assert route.health.in_flight == 0
    assert route.health.first_token_seconds.value == 0.0
    assert here.providers.exchanges[0].finished
    assert ("committed", "a") in here.hooks.events


@pytest.mark.parametrize(
    "before",
    [
        failing(503, error_body("busy")),
        stream(OPENING, AnswerFault("body cut")),
        stream(OPENING),
        stream(OPENING, b'data: {"error":{"message":"boom"}}\n\n'),
        stream(OPENING, DONE),
        Scripted(body=[error_body("boom")]),
        Scripted(fault=SilenceFault("no response within the limit")),
    ],
)
async def test_before_the_first_event_failing_over_is_free(before: Scripted) -> None:
    here = Here(a=before, b=GOOD_STREAM)
    items = await here.stream(here.route("a"), here.route("b", service="other"), max_attempts=9)
    batches = [item for item in items if isinstance(item, Batch)]
    assert b"".join(batch.frames for batch in batches) == OPENING + TEXT + FINISH + DONE
    assert items[-1].attempts[-1].route == "b"


async def test_signs_of_life_are_no_answer() -> None:
    here = Here(a=stream(b": ping\n\n", OPENING, FOREVER), b=GOOD_STREAM)
    route = here.route("a")
    items = await here.stream(route, here.route("b", priority=1), options=CallOptions(first_token_seconds=0.01))
    assert outcomes(items[-1].attempts) == [("a", "model"), ("b", "ok")]
    assert items[-1].attempts[0].reason == "FIRST_TOKEN_TIMEOUT"
    assert here.providers.exchanges[0].closed


async def test_an_endless_opening_is_bounded() -> None:
    flood = [b": " + b"x" * 1_000_000 + b"\n\n"] * 20
    here = Here(a=stream(*flood, FOREVER))
    with pytest.raises(AnswerTooLarge):
        await here.stream(here.route("a"))


@pytest.mark.parametrize("cut", [AnswerFault("body cut"), SilenceFault("no data within the idle limit"), b""])
async def test_a_cut_stream_is_never_a_success(cut: object) -> None:
    here = Here(a=stream(OPENING, TEXT, *([cut] if cut else [])), b=GOOD_STREAM)
    route = here.route("a")
    items: list[Any] = []
    with pytest.raises(StreamInterrupted) as caught:
        await here.stream(route, here.route("b", priority=1), into=items)
    assert [type(item) for item in items] == [StreamStarted, Batch]
    assert outcomes(caught.value.attempts) == [("a", "model")]
    assert route.breaker.snapshot().failures == 1
    assert here.providers.seen == ["a"]
    assert route.health.in_flight == 0


async def test_an_error_event_after_output_carries_the_providers_words() -> None:
    here = Here(a=stream(OPENING, TEXT, b'data: {"error":{"message":"boom"}}\n\n'))
    with pytest.raises(StreamInterrupted) as caught:
        await here.stream(here.route("a"))
    assert caught.value.native is not None
    assert b"boom" in caught.value.native.body


async def test_a_finished_stream_may_stay_open_or_break() -> None:
    for ending in ([FOREVER], [AnswerFault("body cut")], []):
        here = Here(a=stream(OPENING, TEXT, FINISH, *ending))
        limits = here.desc("a").limits
        route = here.route("a")
        object.__setattr__(limits, "stream_end_seconds", 0.01)
        object.__setattr__(route.desc, "limits", limits)
        items = await here.stream(route)
        assert isinstance(items[-1], StreamCompleted)
        frames = b"".join(item.frames for item in items if isinstance(item, Batch))
        assert frames == OPENING + TEXT + FINISH + DONE


async def test_malformed_events_are_left_out_and_reported() -> None:
    here = Here(a=stream(OPENING, TEXT, b"data: {broken\n\n", FINISH + DONE))
    *items, completed = await here.stream(here.route("a"))
    assert b"".join(item.frames for item in items if isinstance(item, Batch)) == OPENING + TEXT + FINISH + DONE
    assert [note.code for note in completed.notes] == ["MALFORMED_EVENT"]


async def test_leaving_a_stream_closes_its_socket() -> None:
    here = Here(a=stream(OPENING, TEXT, FOREVER))
    route = here.route("a")
    table = RouteTable([route], Protocol.OPENAI)
    async with aclosing(here.router.execute_stream(table, read_request(Protocol.OPENAI, REQUEST))) as items:
        async for item in items:
            if isinstance(item, Batch):
                break
    assert here.providers.exchanges[0].closed
    assert not here.providers.exchanges[0].finished
    assert route.health.in_flight == 0
    assert here.hooks.events[-1] == ("attempt", "a", Outcome.ABANDONED)


async def test_the_deadline_closes_a_running_stream() -> None:
    here = Here(a=stream(OPENING, TEXT, FOREVER))
    route = here.route("a")
    with pytest.raises(DeadlineExceeded) as caught:
        await here.stream(route, options=CallOptions(ends_at=here.now + 0.3))
    assert outcomes(caught.value.attempts) == [("a", "abandoned")]
    assert route.breaker.snapshot().failures == 0
    assert here.providers.exchanges[0].closed


async def test_a_request_needs_an_attempt() -> None:
    here = Here(a=Scripted())
    with pytest.raises(ValueError, match="max_attempts"):
        await here.ask(here.route("a"), max_attempts=0)
    assert here.providers.seen == []


async def test_closing_the_router_closes_its_transports_once() -> None:
    here = Here(a=Scripted())
    await here.ask(here.route("a"))
    await here.router.close()
    await here.router.close()
    assert here.providers.closings == 1
