"""Prometheus metrics: counts what the hooks report, in a registry of its own.

The client library's counters take a lock and a lookup for each step, several microseconds a call in sum. Here the event
loop, the only writer, adds to plain dictionaries, and a collector turns them into the library's samples when a scrape
asks; the scrape runs in a thread of its own and copies what it reads. Labels are names from the configuration:
whatever is not named there counts as `unknown`.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from fluxrpc.errors import CODE_NAMES, GrpcCode, Outcome
from fluxrpc.telemetry import semconv
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["Metrics", "MetricsListener", "start_listener"]

_BREAKER_VALUES = {"closed": 0, "half-open": 1, "open": 2}
_BUCKETS = semconv.DURATION_BUCKETS_SECONDS
_BOUNDS = [*(f"{bound:g}" for bound in _BUCKETS), "+Inf"]

Labels = tuple[str, ...]


class _Counter:
    """Counts by label values."""

    __slots__ = ("help", "labels", "name", "values")

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, text, labels
        self.values: defaultdict[Labels, int] = defaultdict(int)

    def collect(self) -> Metric:
        family = CounterMetricFamily(self.name, self.help, labels=self.labels)
        for values, count in list(self.values.items()):
            family.add_metric(values, count)
        return family


class _Histogram:
    """Durations by label values: for each a count per bucket, the sum last."""

    __slots__ = ("help", "labels", "name", "values")

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, text, labels
        self.values: defaultdict[Labels, list[float]] = defaultdict(lambda: [0] * (len(_BUCKETS) + 2))

    def observe(self, labels: Labels, seconds: float) -> None:
        row = self.values[labels]
        row[bisect_left(_BUCKETS, seconds)] += 1
        row[-1] += seconds

    def collect(self) -> Metric:
        family = HistogramMetricFamily(self.name, self.help, labels=self.labels)
        for values, row in list(self.values.items()):
            *counts, total = row
            cumulative = 0.0
            buckets = []
            for bound, count in zip(_BOUNDS, counts, strict=True):
                cumulative += count
                buckets.append((bound, cumulative))
            family.add_metric(values, buckets, total)
        return family


class Metrics(Hooks, Collector):
    """The hooks that count, and the registry that a scrape reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self.registry)
        self.registry.register(self)
        self._models: frozenset[str] = frozenset()
        self._routes: frozenset[str] = frozenset()
        self._targets: frozenset[str] = frozenset()
        self._breakers: dict[Labels, int] = {}
        self._inflight: defaultdict[str, int] = defaultdict(int)
        self._generation = 0
        self._loaded_at = 0.0
        self._reload_ok = True
        self._calls = _Histogram(
            semconv.RPC_SERVER_CALL_DURATION, "Duration of calls by callers", semconv.METHOD, semconv.CODE
        )
        self._requests = _Counter(semconv.REQUESTS, "Requests by what they came to", semconv.MODEL, semconv.REASON)
        self._attempts = _Counter(semconv.ATTEMPTS, "Attempts by outcome", semconv.ROUTE, semconv.OUTCOME)
        self._attempt_seconds = _Histogram(semconv.ATTEMPT_DURATION, "Duration of attempts", semconv.ROUTE)
        self._failovers = _Counter(semconv.FAILOVERS, "Times that another route was tried", semconv.ROUTE)
        self._commits = _Histogram(
            semconv.STREAM_COMMIT_LATENCY, "From the start of an attempt to its first real event", semconv.ROUTE
        )
        self._transitions = _Counter(
            semconv.BREAKER_TRANSITIONS, "Doors that changed", semconv.LAYER, semconv.TARGET, semconv.TO
        )
        self._notes = _Counter(
            semconv.NOTES, "Changes that translations made and told", semconv.FROM, semconv.TO, semconv.CODE
        )
        self._input = _Counter(semconv.GEN_AI_INPUT_TOKENS, "Prompt tokens, cached ones included", semconv.ROUTE)
        self._output = _Counter(semconv.GEN_AI_OUTPUT_TOKENS, "Answer tokens, reasoning included", semconv.ROUTE)
        self._cache_read = _Counter(semconv.GEN_AI_CACHE_READ_TOKENS, "Prompt tokens read from a cache", semconv.ROUTE)
        self._cache_write = _Counter(
            semconv.GEN_AI_CACHE_WRITE_TOKENS, "Prompt tokens written to a cache", semconv.ROUTE
        )

    def configure(
        self, *, models: Collection[str], routes: Collection[str], services: Collection[str], methods: Collection[str]
    ) -> None:
        """Name what may become a label. Series of what is named no more are dropped.

        Args:
            models: names that callers use.
            routes: stable names of routes.
            services: names of services.
            methods: full names of our RPCs (`/package.Service/Method`).
        """
        self._models, self._routes = frozenset(models), frozenset(routes)
        self._targets = self._routes | frozenset(services)
        for method in methods:
            self._inflight[method] += 0
        doors = [("endpoint", name) for name in services] + [("route", name) for name in routes]
        self._breakers = dict.fromkeys(doors, 0) | {
            door: value for door, value in self._breakers.items() if door[1] in self._targets
        }
        self._drop_unnamed()

    def _drop_unnamed(self) -> None:
        by_route = (self._attempts, self._attempt_seconds, self._failovers, self._commits)
        by_tokens = (self._input, self._output, self._cache_read, self._cache_write)
        named_at = [(series, 0, self._routes) for series in (*by_route, *by_tokens)]
        for series, place, names in [
            *named_at,
            (self._requests, 0, self._models),
            (self._transitions, 1, self._targets),
        ]:
            for labels in [key for key in series.values if key[place] not in names and key[place] != semconv.UNKNOWN]:
                del series.values[labels]

    # ------------------------------------------------------------------------------------------------ hooks

    def call_started(self, method: str) -> None:
        """One more is running."""
        if method not in self._inflight:
            method = semconv.UNKNOWN
        self._inflight[method] += 1

    def call_finished(self, method: str, code: GrpcCode, seconds: float) -> None:
        """One less is running; its duration by method and status."""
        if method not in self._inflight:
            method = semconv.UNKNOWN
        self._inflight[method] -= 1
        self._calls.observe((method, CODE_NAMES[code]), seconds)

    def request_finished(self, model: str, reason: str) -> None:
        """By model and reason."""
        self._requests.values[model if model in self._models else semconv.UNKNOWN, reason] += 1

    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:  # noqa: ARG002  # details have no bound
        """By route and outcome. Details have no bound, so they are no label."""
        if route not in self._routes:
            route = semconv.UNKNOWN
        self._attempts.values[route, outcome] += 1
        self._attempt_seconds.observe((route,), seconds)

    def failed_over(self, from_route: str, to_route: str) -> None:  # noqa: ARG002  # one label keeps the series few
        """By the route that failed."""
        self._failovers.values[(from_route if from_route in self._routes else semconv.UNKNOWN,)] += 1

    def stream_committed(self, route: str, seconds: float) -> None:
        """Time to the first real event, by route."""
        self._commits.observe((route if route in self._routes else semconv.UNKNOWN,), seconds)

    def tokens_used(self, route: str, usage: Usage) -> None:
        """By route."""
        labels = (route if route in self._routes else semconv.UNKNOWN,)
        self._input.values[labels] += usage.input_tokens
        self._output.values[labels] += usage.output_tokens
        if cached := usage.cache_read_tokens:
            self._cache_read.values[labels] += cached
        if cached := usage.cache_write_tokens:
            self._cache_write.values[labels] += cached

    def notes_made(self, caller: str | None, target: str, codes: Sequence[str]) -> None:
        """By the caller's protocol, that of the route, and code. All three are words of ours: no label is unbounded."""
        for code in codes:
            self._notes.values[caller or "typed", target, code] += 1

    def breaker_changed(self, layer: str, target: str, old: str, new: str) -> None:  # noqa: ARG002  # the counter says where to
        """The state it has now, and one more change to it."""
        if target not in self._targets:
            target = semconv.UNKNOWN
        self._transitions.values[layer, target, new] += 1
        if target != semconv.UNKNOWN:
            self._breakers[layer, target] = _BREAKER_VALUES[new]

    def config_loaded(self, generation: int, loaded_at: float) -> None:
        """The generation, and that the latest load went well."""
        self._generation, self._loaded_at, self._reload_ok = generation, loaded_at, True

    def config_refused(self) -> None:
        """That the latest load failed."""
        self._reload_ok = False

    # ------------------------------------------------------------------------------------------------ scrape

    def collect(self) -> Iterator[Metric]:
        """All samples; called by the registry, in the thread of a scrape."""
        for series in (
            self._calls,
            self._requests,
            self._attempts,
            self._attempt_seconds,
            self._failovers,
            self._notes,
        ):
            yield series.collect()
        for series in (self._commits, self._transitions):
            yield series.collect()
        for tokens in (self._input, self._output, self._cache_read, self._cache_write):
            yield tokens.collect()
        breakers = GaugeMetricFamily(
            semconv.BREAKER_STATE, "0 closed, 1 half-open, 2 open", labels=(semconv.LAYER, semconv.TARGET)
        )
        for labels, value in list(self._breakers.items()):
            breakers.add_metric(labels, value)
        inflight = GaugeMetricFamily(semconv.INFLIGHT, "Calls that are running", labels=(semconv.METHOD,))
        for method, count in list(self._inflight.items()):
            inflight.add_metric((method,), count)
        yield breakers
        yield inflight
        yield GaugeMetricFamily(semconv.CONFIG_GENERATION, "Configurations accepted so far", value=self._generation)
        yield GaugeMetricFamily(semconv.CONFIG_LOADED_AT, "When the last was accepted", value=self._loaded_at)
        yield GaugeMetricFamily(
            semconv.CONFIG_LAST_RELOAD_OK, "0: the last good configuration was kept", value=float(self._reload_ok)
        )


class MetricsListener:
    """A running HTTP listener for scrapes."""

    def __init__(self, server: WSGIServer, thread: threading.Thread) -> None:
        self._server = server
        self._thread = thread
        self.port: int = server.server_port
        """Where it listens, also where port 0 was asked for."""

    def close(self) -> None:
        """Stop listening. Idempotent; returns within about half a second."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def start_listener(registry: CollectorRegistry, host: str, port: int) -> MetricsListener:
    """Serve `/metrics` in a thread, so that a large scrape does not stand in the way of calls.

    Raises:
        OSError: the address cannot be used.
    """
    server, thread = start_http_server(port, addr=host, registry=registry)
    return MetricsListener(server, thread)
