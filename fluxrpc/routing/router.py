"""The router: takes a request through a route table until there is an answer, or nothing is left to try.

Stateless: what it learns goes into the doors and the health of the routes. Each attempt takes a permit, is carried
out, and settles the permit with what it met; cancellation at any point gives the permit back and closes the socket.
"""

from __future__ import annotations

import asyncio
import random as random_module
from collections.abc import AsyncGenerator, Awaitable, Callable
from math import inf
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from fluxrpc.clock import Monotonic, WallClock, monotonic, wall_clock
from fluxrpc.errors import (
    AttemptError,
    Outcome,
    RequestError,
    RouteUnfit,
    RoutingError,
)
from fluxrpc.protocols.base import Answer, Batch, Protocol
from fluxrpc.protocols.bridge import CallerRequest
from fluxrpc.resilience.deadline import Deadline
from fluxrpc.resilience.retry import BackoffSettings, Random
from fluxrpc.routing.attempt import Attempter, Reply
from fluxrpc.routing.commit import LiveStream
from fluxrpc.routing.conclusion import interrupted
from fluxrpc.routing.options import CallOptions
from fluxrpc.routing.outgoing import HeaderList, crossing
from fluxrpc.routing.plan import Next, Plan
from fluxrpc.routing.route import Route, RoutePermit
from fluxrpc.routing.run import Run, Started
from fluxrpc.routing.service_endpoint import Account
from fluxrpc.routing.table import RouteTable
from fluxrpc.routing.time_limit import TimeLimits
from fluxrpc.routing.trace import malformed_notes
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.upstream.media_fetch import FetchSettings, MediaFetcher
from fluxrpc.upstream.pool import TransportPool
from fluxrpc.v1.outcome_pb2 import Attempt, TranslationNote
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.usage_pb2 import Usage

MAX_ATTEMPTS = 4
_T = TypeVar("_T")
Notes = tuple[TranslationNote, ...]
_NO_OPTIONS = CallOptions()
_Attempt = Callable[["Run", "Next", RoutePermit, "Started", CallOptions], Awaitable[_T]]


class RouterSettings(Struct, frozen=True, kw_only=True):
    """What holds for every request of a router."""

    min_attempt_seconds: float = 0.25
    """No attempt starts with less than this left."""
    reply_reserve_seconds: float = 0.05
    """The caller is answered this long before its deadline."""
    backoff: BackoffSettings = field(default_factory=BackoffSettings)
    media: FetchSettings | None = None
    """Images and documents by URL are fetched where a provider must be given the bytes; None: they are not."""


class Result(Struct, frozen=True, kw_only=True):
    """A whole answer: the route that gave it, the answer itself with its usage, and how it came about."""

    route: Route
    target_protocol: Protocol
    response: Answer
    headers: HeaderList
    usage: Usage | None
    attempts: tuple[Attempt, ...]
    notes: tuple[TranslationNote, ...]


class StreamStarted(Struct, frozen=True, kw_only=True):
    """The answer begins; sent once, with or just before its first real event."""

    route: Route
    target_protocol: Protocol
    served_model: str
    headers: HeaderList
    notes: tuple[TranslationNote, ...]


class StreamCompleted(Struct, frozen=True, kw_only=True):
    """The answer is complete: the last item of every whole stream, and of no other."""

    usage: Usage | None
    finishes: tuple[Finish, ...]
    attempts: tuple[Attempt, ...]
    notes: tuple[TranslationNote, ...]


StreamItem = StreamStarted | Batch | StreamCompleted


class Router:
    """See the module. One for a process; it belongs to the event loop on which it is first used."""

    def __init__(
        self,
        transports: TransportPool | None = None,
        *,
        fetcher: MediaFetcher | None = None,
        settings: RouterSettings | None = None,
        hooks: Hooks | None = None,
        clock: Monotonic = monotonic,
        wall_clock: WallClock = wall_clock,
        random: Random = random_module.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._transports = TransportPool() if transports is None else transports
        self._limits = TimeLimits()
        self._attempter = Attempter(self._transports, self._limits, wall_clock)
        self._settings = settings or RouterSettings()
        self._fetcher = fetcher or MediaFetcher()
        self._fetcher.configure(self._settings.media)
        self._hooks = hooks or Hooks()
        self._clock = clock
        self._wall_clock = wall_clock
        self._random = random
        self._sleep = sleep

    def configure(self, settings: RouterSettings) -> None:
        """Other settings, for what begins from now on."""
        self._settings = settings
        self._fetcher.configure(settings.media)

    async def execute(
        self,
        table: RouteTable,
        request: CallerRequest,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        options: CallOptions = _NO_OPTIONS,
    ) -> Result:
        """Ask for a whole answer.

        Raises:
            RoutingError: nothing is left to try, or the deadline came first; carries the attempts.
            InvalidRequest: the request is not one of its protocol, which is known where a route speaks another.
            RouteUnfit: no route can serve it, however healthy: none can say it (strict fidelity), or hold its state.
            ValueError: `max_attempts` is below 1.
        """
        run = self._run(table, request, max_attempts, options)
        with self._limits.within(self._seconds_left(run), run.out_of_time):
            return await self._first_success(run, options, self._ask)

    async def execute_stream(
        self,
        table: RouteTable,
        request: CallerRequest,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        options: CallOptions = _NO_OPTIONS,
    ) -> AsyncGenerator[StreamItem, None]:
        """Ask for a streamed answer: `StreamStarted`, batches, `StreamCompleted`; without the last it is not complete.

        Close the generator (`contextlib.aclosing`) to cancel: the provider's socket closes at once.

        Raises:
            StreamInterrupted: the answer had begun and broke off.
            RoutingError: as `execute`.
            InvalidRequest, RouteUnfit: as `execute`.
        """
        run = self._run(table, request, max_attempts, options)
        with self._limits.within(self._seconds_left(run), run.out_of_time):
            running = await self._first_success(run, options, self._begin)
        del request
        run.forget_request()
        live, watch = running.live, running.live.watch
        alarm = _Alarm(self._seconds_left(run), live.exchange.close)
        try:
            yield running.head()
            yield live.take_first()
            while not live.ended:
                batch = await live.next()
                if batch.frames or batch.events:
                    yield batch
                del batch  # not kept while the next one is awaited
            completed = running.complete(run)
            if completed.notes:
                self._count(run, running.step, completed.notes)
            yield completed
        except AttemptError as error:
            raise running.break_off(run, error, is_late=alarm.rang) from error
        finally:
            alarm.cancel()
            live.close()
            running.permit.release()
            if not running.is_recorded:
                run.abandon(running.started, watch.usage)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        await self._fetcher.close()
        await self._transports.close()

    def _run(self, table: RouteTable, request: CallerRequest, max_attempts: int, options: CallOptions) -> Run:
        if max_attempts < 1:
            raise ValueError("max_attempts must be at least 1")
        plan = Plan(
            table=table,
            deadline=Deadline(
                ends_at=options.ends_at,
                min_attempt_seconds=self._settings.min_attempt_seconds,
                reply_reserve_seconds=self._settings.reply_reserve_seconds,
            ),
            max_attempts=max_attempts,
            backoff=self._settings.backoff,
            pinned_to=_pinned_to(table, request),
        )
        return Run(
            request,
            plan,
            clock=self._clock,
            wall_clock=self._wall_clock,
            random=self._random,
            hooks=self._hooks,
            strict=options.strict,
        )

    def _seconds_left(self, run: Run) -> float:
        """Until the caller is answered, whatever is still running."""
        return max(0.0, run.answer_by - self._clock())

    async def _first_success(self, run: Run, options: CallOptions, attempt: _Attempt[_T]) -> _T:
        """Make attempts until one succeeds; `attempt` settles its permit when it does."""
        while True:
            step = run.next_step()
            if step.wait_seconds > 0:
                await self._sleep(step.wait_seconds)
            if self._fetcher.is_on:
                await run.inline_media(step.target_protocol, self._fetcher)
            permit = step.route.acquire(early_probe=step.early_probe)
            if permit is None:
                continue  # a door shut while we waited: the plan looks again
            started = run.begin(step.route)
            try:
                return await attempt(run, step, permit, started, options)
            except AttemptError as error:
                run.fail(started, error, permit.fail(error))
                permit.release()
            except RouteUnfit as error:
                permit.release()
                run.pass_over(step.route, error)
            except RequestError:
                permit.release()
                raise
            except BaseException:
                permit.release()
                run.abandon(started)
                raise

    async def _ask(self, run: Run, step: Next, permit: RoutePermit, started: Started, options: CallOptions) -> Result:
        noted: Notes = ()
        if step.target_protocol is run.untouched:  # the usual case, and the quick one
            bridge = run.bridge(step.route, step.target_protocol)
        else:
            bridge = await run.written_bridge(step.route, step.target_protocol, stream=step.route.desc.streams_only)
            options, noted = _crossing(run, step, options)
        reply: Reply = await self._attempter.ask(step.route, step.target_protocol, bridge, options)
        answer = reply.answer
        outcome = Outcome.REFUSED if answer.refused else Outcome.OK
        permit.settle(outcome)
        permit.release()
        run.succeed(started, outcome, http_status=reply.http_status, usage=answer.usage)
        notes = (*noted, *bridge.notes, *reply.notes)
        if notes:
            self._count(run, step, notes)
        return Result(
            route=step.route,
            target_protocol=step.target_protocol,
            response=answer,
            headers=reply.headers,
            usage=answer.usage,
            attempts=tuple(run.attempts),
            notes=notes,
        )

    async def _begin(
        self, run: Run, step: Next, permit: RoutePermit, started: Started, options: CallOptions
    ) -> _Running:
        noted: Notes = ()
        if step.target_protocol is run.untouched:  # the usual case, and the quick one
            bridge = run.bridge(step.route, step.target_protocol)
        else:
            bridge = await run.written_bridge(step.route, step.target_protocol, stream=True)
            options, noted = _crossing(run, step, options)
        live = await self._attempter.open(step.route, step.target_protocol, bridge, options)
        permit.settle(Outcome.OK)
        seconds = self._clock() - started.at
        step.route.health.first_token_seconds.add(seconds)
        self._hooks.stream_committed(step.route.desc.name, seconds)
        notes = (*noted, *bridge.notes)
        if notes:
            self._count(run, step, notes)
        return _Running(step=step, permit=permit, started=started, live=live, notes=notes)

    def _count(self, run: Run, step: Next, notes: Notes) -> None:
        """The caller is told of them."""
        self._hooks.notes_made(run.caller_protocol, step.target_protocol, [note.code for note in notes])


class _Running(Struct, kw_only=True):
    """A stream that has begun, with what must be given back at its end."""

    step: Next
    permit: RoutePermit
    started: Started
    live: LiveStream
    notes: tuple[TranslationNote, ...]
    is_recorded: bool = False
    """Its attempt stands in the trace."""

    def head(self) -> StreamStarted:
        return StreamStarted(
            route=self.step.route,
            target_protocol=self.step.target_protocol,
            served_model=self.live.watch.served_model,
            headers=self.live.headers,
            notes=self.notes,
        )

    def complete(self, run: Run) -> StreamCompleted:
        watch = self.live.watch
        self.is_recorded = True
        run.succeed(self.started, Outcome.OK, http_status=self.live.exchange.status, usage=watch.usage)
        return StreamCompleted(
            usage=watch.usage,
            finishes=tuple(watch.finishes),
            attempts=tuple(run.attempts),
            notes=(*watch.notes, *malformed_notes(watch.malformed)),
        )

    def break_off(self, run: Run, error: AttemptError, *, is_late: bool) -> RoutingError:
        """The end of an answer that is not complete: a new failure of the route, unless the caller's time is up."""
        usage = self.live.watch.usage
        self.is_recorded = True
        error.http_status = self.live.exchange.status
        if is_late:
            run.abandon(self.started, usage)
            return run.out_of_time(usage)
        run.fail(self.started, error, self.step.route.record_failure(error), usage)
        return interrupted(error, attempts=run.attempts, usage=usage)


class _Alarm:
    """Closes a stream's socket at its deadline.

    Not `asyncio.timeout`: that cancels the task, and while the stream is suspended the task is its consumer's.
    """

    __slots__ = ("_handle", "_ring", "rang")

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self.rang = False
        self._ring = ring
        self._handle = None if seconds == inf else asyncio.get_running_loop().call_later(seconds, self._due)

    def _due(self) -> None:
        self.rang = True
        self._ring()

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


def _crossing(run: Run, step: Next, options: CallOptions) -> tuple[CallOptions, Notes]:
    """The options for a route that may speak another protocol than the caller, and notes on what was done for that."""
    fetched = run.inlining_notes(step.target_protocol)
    if not options.headers:
        return options, fetched
    headers, notes = crossing(options.headers, run.caller_protocol, step.target_protocol)
    return (replace(options, headers=headers) if notes else options), (*notes, *fetched)


def _pinned_to(table: RouteTable, request: CallerRequest) -> Account | None:
    """State of a provider account never moves.

    Of several accounts the most preferred one is meant that speaks the caller's protocol, since from there it came.
    """
    if not request.holds_state:
        return None
    of_protocol = (route.desc.account for route in table if table.target_protocol(route) == request.protocol)
    return next(of_protocol, None) or next(iter(table.accounts), None)
