"""A route: one model through one service with one credential, and how it fares.

`RouteDesc` says what it is and never changes; `RouteHealth` says how it fares and is shared by every route of the same
identity; `Route` is the light pair of both. An attempt takes a `RoutePermit`, which stands for all the doors at once.

Invariant: whatever a permit took at a door is given back or settled exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from math import isfinite
from types import TracebackType
from typing import Any, Self

from msgspec.structs import asdict

from fluxrpc.clock import Monotonic
from fluxrpc.errors import AttemptError, Outcome, ProviderError, SilenceFault
from fluxrpc.protocols.gates import ModelCapabilities, data_date, model_capabilities
from fluxrpc.resilience.blame import Judgement, judge
from fluxrpc.resilience.breaker import BreakerSettings, BreakerState, CircuitBreaker, Permit, Verdict
from fluxrpc.resilience.door import HintDoor
from fluxrpc.resilience.ewma import Ewma
from fluxrpc.routing.service_endpoint import Account, Credential, ServiceEndpoint

data_date()  # reads the data of gates and capabilities now: no file is read while an event loop waits

_TOUCH_SECONDS = 1.0
ROUTE_BREAKER = BreakerSettings(failure_threshold=3, recovery_seconds=60.0)


class Door(Enum):
    """What can keep a route from being used."""

    ENDPOINT = "endpoint"
    CREDENTIAL = "credential"
    ROUTE = "route"
    HINT = "hint"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteLimits:
    """How long an attempt of a route may take, and how much may come of it."""

    connect_seconds: float = 5.0
    first_token_seconds: float = 120.0
    """Streams: from the request to the first content; pings do not count."""
    idle_seconds: float = 60.0
    """Streams: silence between two reads."""
    attempt_seconds: float | None = None
    """One whole attempt; None: only the deadline bounds it."""
    stream_end_seconds: float = 2.0
    """How long a stream whose choices have all finished may stay open without its terminator."""
    max_answer_bytes: int = 32 * 1024 * 1024
    max_event_bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteDesc:
    """What a route is.

    Raises:
        ValueError: no name or model, or a weight that no share can be made of.
    """

    name: str
    """Stable and unique: for logs, metrics and callers."""
    endpoint: ServiceEndpoint
    model: str
    """The upstream's name of the model."""
    credential: Credential
    priority: int = 0
    """Lower is preferred."""
    weight: float = 1.0
    """Share among equal priorities."""
    streams_only: bool = False
    """Its provider can only stream: for unary calls the stream is gathered."""
    capabilities: ModelCapabilities = field(default_factory=ModelCapabilities)
    """What it is declared to do; what is None is as the built-in data says."""
    gates: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What its model refuses or demands, where the built-in data (`fluxrpc.protocols.gates.Gates`) has it otherwise."""
    limits: RouteLimits = RouteLimits()
    breaker: BreakerSettings = ROUTE_BREAKER
    retries_per_route: int = 1
    """Retries on this route in one request, after a fault that may pass."""
    patience_seconds: float = 3.0
    """Rather wait this long for this route, when its provider says so, than use a less preferred one."""
    identity_key: str = field(init=False)
    """Digest of service name, model and credential. Routes with the same key share one health."""

    def __post_init__(self) -> None:
        if not self.name or not self.model:
            raise ValueError("a route has a name and a model")
        if not (isfinite(self.weight) and self.weight > 0):
            raise ValueError(f"route {self.name!r}: weight must be positive and finite")
        key = _identity_key(self.endpoint.service.name, self.model, self.credential)
        object.__setattr__(self, "identity_key", key)

    @property
    def account(self) -> Account:
        """The provider account that it uses."""
        return Account(self.endpoint.service.name, self.credential)


def _known_capabilities(desc: RouteDesc) -> ModelCapabilities:
    """What is declared, else what the built-in data says of the model in any protocol of its service."""
    known = asdict(desc.capabilities)
    for protocol in desc.endpoint.service.base_urls:
        known |= {
            name: value
            for name, value in asdict(model_capabilities(protocol, desc.model)).items()
            if known[name] is None
        }
    return ModelCapabilities(**known)


def _identity_key(service: str, model: str, credential: Credential) -> str:
    # Each part behind its length: ("ab", "c") and ("a", "bc") must not meet. The credential enters as its digest.
    digest = blake2b(digest_size=16, person=b"fluxrpc-route")
    for part in (service.encode(), model.encode(), credential.digest):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


class RouteHealth:
    """How a route fares. One for each identity, whatever tables the routes stand in."""

    __slots__ = (
        "_on_use",
        "breaker",
        "clock",
        "first_token_seconds",
        "hint",
        "in_flight",
        "key",
        "last_error",
        "last_used_at",
        "latency_seconds",
    )

    def __init__(
        self,
        key: str,
        settings: BreakerSettings,
        clock: Monotonic,
        *,
        on_use: Callable[[RouteHealth], None] | None = None,
        on_change: Callable[[str, BreakerState, BreakerState], None] | None = None,
    ) -> None:
        """`on_use` is told of every use, `on_change` (key, old, new) of every change of the breaker."""
        hook = None if on_change is None else lambda old, new: on_change(key, old, new)
        self._on_use = on_use
        self.key = key
        self.clock = clock
        self.breaker = CircuitBreaker(settings, clock, on_change=hook)
        self.hint = HintDoor()
        self.latency_seconds = Ewma()
        """Of successful attempts, whole."""
        self.first_token_seconds = Ewma()
        """Of streams, to the first content."""
        self.in_flight = 0
        self.last_error = ""
        """Short safe word for the latest fault; "" after a success."""
        self.last_used_at = clock()

    def is_idle(self, now: float) -> bool:
        """Whether nothing would be lost with it but averages: breaker closed, no hint running, nothing in flight."""
        return self.breaker.state is BreakerState.CLOSED and self.hint.shut_until <= now and self.in_flight == 0

    def enter(self) -> None:
        """One more attempt is in flight.

        A busy route need not be placed anew among the last used for each of its attempts: once a second is enough to
        tell it from an idle one.
        """
        self.in_flight += 1
        if self.in_flight == 1 or self.clock() - self.last_used_at >= _TOUCH_SECONDS:
            self.touch()

    def leave(self) -> None:
        """One less."""
        self.in_flight -= 1
        if self.in_flight == 0:
            self.touch()

    def touch(self) -> None:
        """It was used, or its state changed by a use."""
        self.last_used_at = self.clock()
        if self._on_use is not None:
            self._on_use(self)


class Route:
    """A `RouteDesc` with its `RouteHealth`. Compared by identity; the four doors are at hand for selection."""

    __slots__ = ("breaker", "desc", "door", "endpoint_breaker", "health", "hint", "prepared")

    def __init__(self, desc: RouteDesc, health: RouteHealth) -> None:
        self.desc = desc
        self.health = health
        self.breaker = health.breaker
        self.hint = health.hint
        self.endpoint_breaker = desc.endpoint.breaker
        self.door = desc.credential.door
        self.prepared: dict[Hashable, object] = {}
        """What is derived from the description once, by whoever needs it."""

    def __repr__(self) -> str:
        return f"Route({self.desc.name!r}, {self.breaker.state.value})"

    @property
    def capabilities(self) -> ModelCapabilities:
        """What is known of what its model can do. Looked up when somebody asks: few requests do."""
        known = self.prepared.get(ModelCapabilities)
        if not isinstance(known, ModelCapabilities):
            known = self.prepared[ModelCapabilities] = _known_capabilities(self.desc)
        return known

    def is_available(self, now: float) -> bool:
        """Whether every door lets it pass at `now`. Takes nothing. `RouteTable.select` writes this out for speed."""
        return self.ready_at() <= now

    def ready_at(self) -> float:
        """The moment from which every door is open; infinite while a probe is out."""
        return max(
            self.breaker.shut_until,
            self.endpoint_breaker.shut_until,
            self.door.shut_until,
            self.hint.shut_until,
        )

    def shut_by(self, now: float) -> Door | None:
        """The widest door that is shut, None if all are open."""
        if self.endpoint_breaker.shut_until > now:
            return Door.ENDPOINT
        if self.door.shut_until > now:
            return Door.CREDENTIAL
        if self.breaker.shut_until > now:
            return Door.ROUTE
        return Door.HINT if self.hint.shut_until > now else None

    def acquire(self, *, early_probe: bool = False) -> RoutePermit | None:
        """Take a permit for one attempt at all doors, or none at any.

        `early_probe`: `RouteTable.select` chose it as the probe of an endpoint that is still shut.
        """
        now = self.health.clock()
        if self.door.shut_until > now or self.hint.shut_until > now:
            return None
        endpoint_permit = self.endpoint_breaker.acquire(early=early_probe)
        if endpoint_permit is None:
            return None
        route_permit = None
        try:
            route_permit = self.breaker.acquire()
        finally:  # also where a hook raised: the endpoint's place is never lost
            if route_permit is None:
                self.endpoint_breaker.report(endpoint_permit, Verdict.EXCLUDED)
        return None if route_permit is None else RoutePermit(self, endpoint_permit, route_permit)

    def record_failure(self, error: AttemptError) -> Judgement:
        """A fault after the attempt was settled: the answer had begun and then broke off. Gives whom it blames."""
        judgement = self._judge(error.outcome, is_silence=isinstance(error, SilenceFault))
        if judgement.endpoint is Verdict.FAILURE:
            self.endpoint_breaker.record_failure()
        if judgement.route is Verdict.FAILURE:
            self.breaker.record_failure()
        self._shut(judgement, _hint_of(error))
        self.health.last_error = error.detail
        self.health.touch()
        return judgement

    def _judge(self, outcome: Outcome, *, is_silence: bool) -> Judgement:
        blames_endpoint = self.desc.endpoint.service.read_timeout_blames_endpoint
        return judge(outcome, is_silence=is_silence, silence_blames_endpoint=blames_endpoint)

    def _shut(self, judgement: Judgement, retry_after_seconds: float | None) -> None:
        if judgement.shuts_credential:
            self.door.reject(self.health.clock())
        if judgement.binds_hint:
            self.hint.heed(retry_after_seconds, self.health.clock())


def _hint_of(error: AttemptError) -> float | None:
    return error.retry_after_seconds if isinstance(error, ProviderError) else None


class RoutePermit:
    """One attempt's right to use a route. Settle it when its outcome is known, release it when the attempt is over.

    A stream settles when its first content is there and is released at its end; a fault in between goes to
    `Route.record_failure`. As a context manager it releases on leaving; what was never settled counts as abandoned.
    Both are synchronous and idempotent, so they may stand in a `finally` of a cancelled task.
    """

    __slots__ = ("_endpoint_permit", "_is_released", "_route_permit", "is_settled", "route")

    def __init__(self, route: Route, endpoint_permit: Permit, route_permit: Permit) -> None:
        self.route = route
        self.is_settled = False
        self._endpoint_permit = endpoint_permit
        self._route_permit = route_permit
        self._is_released = False
        route.health.enter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def settle(
        self,
        outcome: Outcome,
        *,
        retry_after_seconds: float | None = None,
        is_silence: bool = False,
        detail: str = "",
    ) -> Judgement:
        """Apply the blame table to all doors, once; later calls change nothing. Gives what the outcome says.

        `retry_after_seconds` is the provider's hint from now, `detail` a short safe word for the fault.
        """
        judgement = self.route._judge(outcome, is_silence=is_silence)  # noqa: SLF001  # two halves of one thing
        if self.is_settled:
            return judgement
        self.is_settled = True
        route = self.route
        route._shut(judgement, retry_after_seconds)  # noqa: SLF001  # two halves of one thing
        if outcome is not Outcome.ABANDONED:
            route.health.last_error = detail
        try:
            route.endpoint_breaker.report(self._endpoint_permit, judgement.endpoint)
        finally:  # also where a hook raised: a probe's place is never lost
            route.breaker.report(self._route_permit, judgement.route)
        # No touch: while the permit is out the health is in use, and `release` follows.
        return judgement

    def fail(self, error: AttemptError) -> Judgement:
        """`settle` with what an error says."""
        return self.settle(
            error.outcome,
            retry_after_seconds=_hint_of(error),
            is_silence=isinstance(error, SilenceFault),
            detail=error.detail,
        )

    def abandon(self) -> None:
        """The caller left or ran out of time: give everything back, change nothing."""
        self.settle(Outcome.ABANDONED)

    def release(self) -> None:
        """The attempt is over."""
        if not self.is_settled:
            self.abandon()
        if not self._is_released:
            self._is_released = True
            self.route.health.leave()
