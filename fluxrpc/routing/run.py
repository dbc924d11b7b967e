"""One request on its way through its table: the plan's memory, the bridges, the trace. No I/O.

A run lives as long as its request. It knows what was tried; what to try next is the plan's answer.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from fluxrpc.clock import Monotonic, WallClock
from fluxrpc.errors import (
    AttemptError,
    DeadlineExceeded,
    FluxError,
    Outcome,
    ProviderError,
    RouteUnfit,
    StateNotPortable,
)
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import Bridge, CallerRequest
from fluxrpc.resilience.blame import Blame, Judgement
from fluxrpc.resilience.retry import Random
from fluxrpc.routing.bridging import bridge_to, is_long_work
from fluxrpc.routing.conclusion import conclude
from fluxrpc.routing.inlining import Inlined, inlined
from fluxrpc.routing.plan import GiveUp, Next, Plan, Stop, Tried
from fluxrpc.routing.route import Route
from fluxrpc.routing.table import RouteTable
from fluxrpc.routing.trace import attempt_record, passed_over_record
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.upstream.media_fetch import MediaFetcher
from fluxrpc.v1.outcome_pb2 import Attempt, TranslationNote
from fluxrpc.v1.usage_pb2 import Usage


class Started(Struct, frozen=True, kw_only=True):
    """An attempt that runs: its route and when it began, on both clocks."""

    route: Route
    at: float
    """Monotonic seconds."""
    wall: float
    """Unix seconds."""


class Run:
    """See the module."""

    __slots__ = (
        "_bridges",
        "_clock",
        "_errors",
        "_hooks",
        "_inlined",
        "_plan",
        "_random",
        "_strict",
        "_tried",
        "_unfit",
        "_wall_clock",
        "attempts",
        "caller_protocol",
        "request",
        "untouched",
    )

    def __init__(
        self,
        request: CallerRequest,
        plan: Plan,
        *,
        clock: Monotonic,
        wall_clock: WallClock,
        random: Random,
        hooks: Hooks,
        strict: bool = False,
    ) -> None:
        """`strict`: routes that cannot say the whole request are passed over."""
        self.request: CallerRequest | None = request
        self.attempts: list[Attempt] = []
        self.caller_protocol = plan.table.caller_protocol
        self.untouched = None if strict else plan.table.caller_protocol
        """The protocol whose routes get the request as it is, unread; None: there is none."""
        self._plan = plan
        self._clock = clock
        self._wall_clock = wall_clock
        self._random = random
        self._hooks = hooks
        self._tried: list[Tried] = []
        self._errors: list[AttemptError] = []
        self._bridges: dict[Route, Bridge] = {}
        self._inlined: dict[Protocol, Inlined] = {}
        self._strict = strict
        self._unfit: RouteUnfit | None = None

    @property
    def table(self) -> RouteTable:
        """The table that the request goes through."""
        return self._plan.table

    @property
    def answer_by(self) -> float:
        """The moment (monotonic) at which the caller is answered, whatever is still running."""
        return self._plan.deadline.answer_by

    def next_step(self) -> Next:
        """The next attempt to make.

        Raises:
            RoutingError: nothing is left to try.
            RouteUnfit: no route can serve the request, however healthy.
            StateNotPortable: the account whose state the request holds cannot serve it.
        """
        step = self._plan.next_step(self._tried, now=self._clock(), random=self._random)
        if isinstance(step, GiveUp):
            raise self._given_up(step)
        if self._tried and self._tried[-1].route is not step.route:
            self._hooks.failed_over(self._tried[-1].route.desc.name, step.route.desc.name)
        return step

    async def inline_media(self, target: Protocol, fetcher: MediaFetcher) -> None:
        """Fetch, once, what a route of that protocol must be given as bytes.

        Raises:
            InvalidRequest: it cannot be had; or the body is not one of its protocol.
        """
        if self.request is not None and target not in self._inlined:
            self._inlined[target] = await inlined(self.request, target, fetcher)

    def inlining_notes(self, target: Protocol) -> tuple[TranslationNote, ...]:
        """What was fetched for routes of that protocol."""
        return self._inlined[target].notes if target in self._inlined else ()

    def bridge(self, route: Route, target: Protocol) -> Bridge:
        """The way from the caller's protocol to that of a route; the same for every attempt of this request there.

        Raises:
            InvalidRequest: the body is not one of its protocol.
            RouteUnfit: the route is known not to be up to the request.
        """
        bridge = self._bridges.get(route)
        if bridge is None:
            if self.request is None:
                raise RuntimeError("the request has been forgotten")
            request = self._inlined[target].request if target in self._inlined else self.request
            bridge = self._bridges[route] = bridge_to(
                request, route, target, strict=self._strict, wall_clock=self._wall_clock
            )
        return bridge

    async def written_bridge(self, route: Route, target: Protocol, *, stream: bool) -> Bridge:
        """As `bridge`, with the request written: what is large is translated beside the event loop.

        Raises:
            InvalidRequest, RouteUnfit: as `bridge`, and as `Bridge.wire`.
        """
        if route in self._bridges or self.request is None or not is_long_work(self.request):
            return self.bridge(route, target)
        return await asyncio.to_thread(self._written, route, target, stream=stream)

    def _written(self, route: Route, target: Protocol, *, stream: bool) -> Bridge:
        bridge = self.bridge(route, target)
        bridge.wire(stream=stream)
        return bridge

    def pass_over(self, route: Route, why: RouteUnfit) -> None:
        """That route cannot serve this request, whatever its health. What the caller is told is the best one's why."""
        self._unfit = self._unfit or why
        self.attempts.append(passed_over_record(route.desc.name, at=self._wall_clock(), reason=why.detail))
        self._plan = replace(self._plan, passed_over=self._plan.passed_over | {route})

    def forget_request(self) -> None:
        """The answer has begun, nothing will be sent again: a stream may last for hours, its request need not."""
        self.request = None
        self._bridges.clear()
        self._inlined.clear()

    def begin(self, route: Route) -> Started:
        """An attempt begins now."""
        return Started(route=route, at=self._clock(), wall=self._wall_clock())

    def fail(self, started: Started, error: AttemptError, judgement: Judgement, usage: Usage | None = None) -> None:
        """An attempt ended with a fault that has been settled with `judgement`."""
        if isinstance(error, ProviderError):
            error.hide(started.route.desc.credential.reveal())
        self._tried.append(Tried.failed(started.route, error, self._clock()))
        self._errors.append(error)
        self._record(started, error.outcome, judgement.blame, error=error, usage=usage)

    def succeed(self, started: Started, outcome: Outcome, *, http_status: int, usage: Usage | None) -> None:
        """An attempt gave the answer, whole."""
        self._record(started, outcome, Blame.NOBODY, http_status=http_status, usage=usage)
        started.route.health.latency_seconds.add(self._clock() - started.at)

    def abandon(self, started: Started, usage: Usage | None = None) -> None:
        """The caller left, or its time ran out, while an attempt ran."""
        self._record(started, Outcome.ABANDONED, Blame.NOBODY, usage=usage)

    def out_of_time(self, usage: Usage | None = None) -> DeadlineExceeded:
        """The error for a deadline that came first."""
        return DeadlineExceeded("the deadline came before the answer", attempts=self.attempts, partial_usage=usage)

    def _record(
        self,
        started: Started,
        outcome: Outcome,
        blame: Blame,
        *,
        http_status: int = 0,
        error: AttemptError | None = None,
        usage: Usage | None = None,
    ) -> None:
        seconds = self._clock() - started.at
        name = started.route.desc.name
        self.attempts.append(
            attempt_record(
                name,
                started_at=started.wall,
                seconds=seconds,
                outcome=outcome,
                blame=blame,
                http_status=http_status,
                error=error,
                usage=usage,
            )
        )
        self._hooks.attempt_finished(name, outcome, "" if error is None else error.detail, seconds)
        if usage is not None:
            self._hooks.tokens_used(name, usage)

    def _is_pinned_out(self, step: GiveUp) -> bool:
        """Whether other accounts are there, but the request may not move to them."""
        nothing_left = step.reason in {Stop.ROUTES_SPENT, Stop.DOORS_SHUT}
        return nothing_left and self._plan.pinned_to is not None and len(self.table.accounts) > 1

    def _pass_over_the_rest(self) -> None:
        """Whether what is shut now could say the request, once it opens again: else waiting would be in vain."""
        for route in self._plan.usable:
            try:
                self.bridge(route, self.table.target_protocol(route)).wire(stream=False)
            except RouteUnfit as why:
                self.pass_over(route, why)

    def _given_up(self, step: GiveUp) -> FluxError:
        if self._unfit is not None and not self._errors and step.reason is not Stop.DEADLINE:
            self._pass_over_the_rest()
            if not self._plan.usable:
                self._unfit.attempts = tuple(self.attempts)
                return self._unfit
        if self._is_pinned_out(step):
            return StateNotPortable("the request holds state of a provider account that cannot serve it now")
        if step.reason is Stop.DEADLINE:
            return self.out_of_time()
        return conclude(
            self._errors,
            attempts=self.attempts,
            shut_by=step.shut_by,
            retry_after_seconds=step.retry_after_seconds,
        )
