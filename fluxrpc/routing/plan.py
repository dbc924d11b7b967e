"""What a request tries next: pure, from what it has met so far.

It performs no attempt and takes no permit; whoever carries the step out asks again when the permit is refused. A dead
keep-alive connection is replaced below this, and is no attempt.

The order, once an attempt has failed in a way that another may do better:

1. a route not yet tried, of the same priority (or of a better one that has become available);
2. after a fault that may pass, the same route once more, when its provider and the back-off allow;
3. a route not yet tried, of the next priority;
4. a route not yet tried that only a short hint of its provider still keeps shut.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from math import inf, isfinite

from msgspec import Struct, field

from fluxrpc.errors import AnswerOversize, AttemptError, Outcome, ProviderError
from fluxrpc.protocols.base import Protocol
from fluxrpc.resilience.deadline import Deadline
from fluxrpc.resilience.retry import BackoffSettings, Random, backoff_seconds
from fluxrpc.routing.route import Door, Route
from fluxrpc.routing.service_endpoint import Account
from fluxrpc.routing.table import RouteTable, Selection

_FINAL = frozenset({Outcome.OK, Outcome.REFUSED, Outcome.CALLER, Outcome.ABANDONED})
"""Results, the request's own fault, and a caller who has left: no route could do better."""


class Tried(Struct, frozen=True, kw_only=True):
    """One attempt that is over, as far as the next step depends on it."""

    route: Route
    outcome: Outcome
    ended_at: float
    """Moment of the monotonic clock."""
    may_pass: bool = False
    """The fault may pass by itself, so the same route may be asked once more."""
    retry_after_seconds: float | None = None
    """The provider's hint, counted from `ended_at`."""
    is_context_length: bool = False
    """The request is too long for this model."""
    is_oversize: bool = False
    """The answer is over our limits; another route would hardly answer shorter."""

    @classmethod
    def failed(cls, route: Route, error: AttemptError, ended_at: float) -> Tried:
        """An attempt that ended with `error`."""
        from_provider = error if isinstance(error, ProviderError) else None
        hint = from_provider.retry_after_seconds if from_provider else None
        return cls(
            route=route,
            outcome=error.outcome,
            ended_at=ended_at,
            may_pass=error.retry_same_route,
            retry_after_seconds=hint if hint is not None and isfinite(hint) else None,
            is_context_length=from_provider is not None and from_provider.context_length,
            is_oversize=isinstance(error, AnswerOversize),
        )

    @property
    def hint_ends_at(self) -> float:
        """The moment before which the provider does not want to be asked again."""
        return -inf if self.retry_after_seconds is None else self.ended_at + self.retry_after_seconds


class Stop(Enum):
    """Why nothing more is tried."""

    FINAL = "final"
    """No route could do better: the request's own fault, or an answer over our limits."""
    ATTEMPTS_SPENT = "attempts spent"
    ROUTES_SPENT = "routes spent"
    """What was tried failed, and nothing else can be had."""
    DEADLINE = "deadline"
    """Too little time is left for another attempt."""
    DOORS_SHUT = "doors shut"
    """Nothing was tried, because nothing can be had."""


class Next(Struct, frozen=True, kw_only=True):
    """Ask this route, after waiting."""

    route: Route
    target_protocol: Protocol
    wait_seconds: float = 0.0
    early_probe: bool = False
    """To be handed to `Route.acquire`."""


class GiveUp(Struct, frozen=True, kw_only=True):
    """Nothing more is tried."""

    reason: Stop
    retry_after_seconds: float | None = None
    """When a door opens that is shut now; None where none has to, so that waiting would not help."""
    shut_by: frozenset[Door] = frozenset()
    """The doors that are shut, where those are the reason."""


class Plan(Struct, frozen=True, kw_only=True):
    """What a request may do. Made once for each; `next_step` is asked before every attempt."""

    table: RouteTable
    deadline: Deadline
    max_attempts: int = 4
    backoff: BackoffSettings = field(default_factory=BackoffSettings)
    pinned_to: Account | None = None
    """The request holds state of this provider account and never moves to another."""
    passed_over: frozenset[Route] = frozenset()
    """Routes that cannot serve this request whatever their health: they cannot say it."""

    def next_step(self, tried: Sequence[Tried], *, now: float, random: Random) -> Next | GiveUp:
        """The next step after what was `tried`, oldest first."""
        if tried and _is_final(tried[-1]):
            return GiveUp(reason=Stop.FINAL)
        if len(tried) >= self.max_attempts:
            return self._give_up(Stop.ATTEMPTS_SPENT, now)
        if not self.deadline.admits_attempt(now):
            return GiveUp(reason=Stop.DEADLINE)
        exclude = self._excluded(tried)
        chosen = self.table.select(now, random, exclude)
        last = tried[-1] if tried else None
        if last is None and chosen is not None:
            return Next(
                route=chosen.route, target_protocol=chosen.target_protocol, early_probe=chosen.early_probe
            )  # the usual case: nothing has failed, nothing to weigh
        step = None
        if last is not None and (chosen is None or chosen.route.desc.priority > last.route.desc.priority):
            step = self._same_route(last, tried, now=now, random=random)
        if step is None and chosen is not None:
            step = self._other_route(chosen, tried, now=now, random=random)
        return step or self._hinted_route(exclude, now) or self._nothing_left(tried, now)

    def _excluded(self, tried: Sequence[Tried]) -> AbstractSet[Route]:
        """The routes that a first try in this request may not go to."""
        exclude = self._unusable
        if not tried:
            return exclude
        exclude = exclude.union(attempt.route for attempt in tried)
        barring = [attempt for attempt in tried if _bars_others(attempt)]
        if barring:
            exclude |= {route for route in self.table if any(_is_barred(route, by) for by in barring)}
        return exclude

    @property
    def usable(self) -> tuple[Route, ...]:
        """The routes that could serve this request if their doors were open, most preferred first."""
        unusable = self._unusable
        return tuple(route for route in self.table if route not in unusable)

    @property
    def _unusable(self) -> frozenset[Route]:
        """The routes that this request may never go to."""
        if self.pinned_to is None:
            return self.passed_over
        elsewhere = {route for route in self.table if route.desc.account != self.pinned_to}
        return self.passed_over | elsewhere

    def _same_route(self, last: Tried, tried: Sequence[Tried], *, now: float, random: Random) -> Next | None:
        """Once more the route that just failed, if the fault may pass and there is time for it to."""
        route = last.route
        if not _may_pass(last) or sum(t.route is route for t in tried) > route.desc.retries_per_route:
            return None
        hint_ends_at = max(last.hint_ends_at, route.hint.shut_until)
        if hint_ends_at - now > route.desc.patience_seconds:
            return None
        backoff = backoff_seconds(_faults_at_endpoint(route, tried), random, self.backoff)
        start_at = max(hint_ends_at, now + backoff)
        if not (route.is_available(start_at) and self.deadline.admits_attempt(start_at)):
            return None
        return Next(route=route, target_protocol=self.table.target_protocol(route), wait_seconds=start_at - now)

    def _other_route(self, chosen: Selection, tried: Sequence[Tried], *, now: float, random: Random) -> Next | None:
        """A route not yet tried: at once, but for a back-off where its endpoint has just shown signs of trouble."""
        faults = _faults_at_endpoint(chosen.route, tried)
        wait = backoff_seconds(faults, random, self.backoff) if faults else 0.0
        if not self.deadline.admits_attempt(now + wait):
            return None
        return Next(
            route=chosen.route,
            target_protocol=chosen.target_protocol,
            wait_seconds=wait,
            early_probe=chosen.early_probe,
        )

    def _hinted_route(self, exclude: AbstractSet[Route], now: float) -> Next | None:
        """A route that only a hint keeps shut, and not for longer than it is worth waiting."""
        waiting = [
            route
            for route in self.table
            if route.shut_by(now) is Door.HINT
            and route not in exclude
            and route.hint.shut_until - now <= route.desc.patience_seconds
            and self.deadline.admits_attempt(route.hint.shut_until)
        ]
        if not waiting:
            return None
        route = min(waiting, key=lambda candidate: (candidate.desc.priority, candidate.hint.shut_until))
        return Next(
            route=route,
            target_protocol=self.table.target_protocol(route),
            wait_seconds=route.hint.remaining_seconds(now),
        )

    def _nothing_left(self, tried: Sequence[Tried], now: float) -> GiveUp:
        return self._give_up(Stop.ROUTES_SPENT if tried else Stop.DOORS_SHUT, now)

    def _give_up(self, reason: Stop, now: float) -> GiveUp:
        unusable = self._unusable
        return GiveUp(
            reason=reason,
            retry_after_seconds=self.table.soonest_recovery(now, unusable) or None,
            shut_by=self.table.shut_by(now, unusable),
        )


def _bars_others(attempt: Tried) -> bool:
    return attempt.outcome is Outcome.CREDENTIAL or attempt.is_context_length


def _is_barred(route: Route, by: Tried) -> bool:
    """Whether what one route met would be met again here: the same key, or a context that is no larger."""
    if by.is_context_length:
        return not _has_larger_context(route, by.route)
    return route.desc.account == by.route.desc.account


def _is_final(last: Tried) -> bool:
    if last.is_context_length:
        return False  # the request's own fault, but a model with a larger context may take it
    if last.may_pass:
        return False  # 408, 409, 425: nobody's fault that would last
    return last.outcome in _FINAL or last.is_oversize


def _may_pass(last: Tried) -> bool:
    """A rate limit passes when its provider says when; of other faults, the error knows."""
    if last.outcome is Outcome.LIMITED:
        return last.retry_after_seconds is not None
    return last.may_pass


def _faults_at_endpoint(route: Route, tried: Sequence[Tried]) -> int:
    """How many attempts of this request met trouble at the route's endpoint that waiting may relieve.

    Not counted: what concerns one route or key only. After a rate limit with a hint another route takes over at once,
    unless it is the same route, which waits for the hint.
    """
    return sum(
        attempt.route.desc.endpoint.breaker is route.endpoint_breaker
        and (attempt.route is route or _troubles_endpoint(attempt))
        for attempt in tried
    )


def _troubles_endpoint(attempt: Tried) -> bool:
    if attempt.outcome is Outcome.LIMITED:
        return attempt.retry_after_seconds is None
    return attempt.may_pass or attempt.outcome is Outcome.NETWORK


def _has_larger_context(route: Route, than: Route) -> bool:
    ours, theirs = route.capabilities.context_tokens, than.capabilities.context_tokens
    return ours is not None and theirs is not None and ours > theirs
