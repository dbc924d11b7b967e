from __future__ import annotations

import urllib.request

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fluxrpc.errors import GrpcCode, Outcome
from fluxrpc.telemetry.metrics import Metrics, start_listener
from fluxrpc.v1.usage_pb2 import Usage

EXECUTE = "/fluxrpc.v1.RouterService/Execute"


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics()
    metrics.configure(models=["fast"], routes=["fast/a/m", "fast/b/m"], services=["a", "b"], methods=[EXECUTE])
    return metrics


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def text(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def test_calls_are_counted_and_timed(metrics: Metrics) -> None:
    metrics.call_started(EXECUTE)
    metrics.call_started(EXECUTE)
    assert value(metrics, "fluxrpc_inflight", method=EXECUTE) == 2
    metrics.call_finished(EXECUTE, GrpcCode.OK, 0.02)
    metrics.call_finished(EXECUTE, GrpcCode.UNAVAILABLE, 200.0)
    assert value(metrics, "fluxrpc_inflight", method=EXECUTE) == 0
    name = "rpc_server_call_duration_seconds"
    ok = {"method": EXECUTE, "code": "OK"}
    buckets = {le: value(metrics, f"{name}_bucket", **ok, le=le) for le in ("0.01", "0.025", "120", "+Inf")}
    assert buckets == {"0.01": 0, "0.025": 1, "120": 1, "+Inf": 1}
    assert (value(metrics, f"{name}_count", **ok), value(metrics, f"{name}_sum", **ok)) == (1, 0.02)
    late = {"method": EXECUTE, "code": "UNAVAILABLE"}
    assert (value(metrics, f"{name}_bucket", **late, le="120"), value(metrics, f"{name}_count", **late)) == (0, 1)


def test_a_duration_on_a_bound_belongs_to_its_bucket(metrics: Metrics) -> None:
    metrics.stream_committed("fast/a/m", 0.1)
    name = "fluxrpc_stream_commit_latency_seconds_bucket"
    assert value(metrics, name, route="fast/a/m", le="0.075") == 0
    assert value(metrics, name, route="fast/a/m", le="0.1") == 1


def test_attempts_tokens_and_failovers(metrics: Metrics) -> None:
    metrics.attempt_finished("fast/a/m", Outcome.MODEL, "http 500", 0.3)
    metrics.failed_over("fast/a/m", "fast/b/m")
    metrics.attempt_finished("fast/b/m", Outcome.OK, "", 0.1)
    metrics.tokens_used("fast/b/m", Usage(input_tokens=7, output_tokens=5, cache_read_tokens=3, cache_write_tokens=2))
    metrics.tokens_used("fast/b/m", Usage(input_tokens=1))
    metrics.request_finished("fast", "OK")
    assert value(metrics, "fluxrpc_attempts_total", route="fast/a/m", outcome="model") == 1
    assert value(metrics, "fluxrpc_attempts_total", route="fast/b/m", outcome="ok") == 1
    assert value(metrics, "fluxrpc_attempt_duration_seconds_sum", route="fast/a/m") == 0.3
    assert value(metrics, "fluxrpc_failovers_total", route="fast/a/m") == 1
    assert value(metrics, "fluxrpc_requests_total", model="fast", reason="OK") == 1
    prefix = "gen_ai_client_usage"
    tokens = {
        kind: value(metrics, f"{prefix}_{kind}_tokens_total", route="fast/b/m")
        for kind in ("input", "output", "cache_read_input", "cache_write_input")
    }
    assert tokens == {"input": 8, "output": 5, "cache_read_input": 3, "cache_write_input": 2}
    assert "http 500" not in text(metrics)


def test_doors(metrics: Metrics) -> None:
    state = "fluxrpc_breaker_state"
    assert value(metrics, state, layer="endpoint", target="a") == 0
    metrics.breaker_changed("endpoint", "a", "closed", "open")
    assert value(metrics, state, layer="endpoint", target="a") == 2
    metrics.breaker_changed("endpoint", "a", "open", "half-open")
    assert value(metrics, state, layer="endpoint", target="a") == 1
    metrics.breaker_changed("endpoint", "a", "half-open", "closed")
    assert value(metrics, state, layer="endpoint", target="a") == 0
    assert value(metrics, "fluxrpc_breaker_transitions_total", layer="endpoint", target="a", to="open") == 1


def test_notes_by_pair_and_code(metrics: Metrics) -> None:
    metrics.notes_made("openai", "cohere", ["TOP_K", "TOP_K", "SEED"])
    metrics.notes_made(None, "cohere", ["TOP_K"])
    name = "fluxrpc_translation_notes_total"
    assert value(metrics, name, **{"from": "openai"}, to="cohere", code="TOP_K") == 2
    assert value(metrics, name, **{"from": "openai"}, to="cohere", code="SEED") == 1
    assert value(metrics, name, **{"from": "typed"}, to="cohere", code="TOP_K") == 1


def test_the_configuration_shows(metrics: Metrics) -> None:
    metrics.config_loaded(3, 1234.0)
    assert value(metrics, "fluxrpc_config_generation") == 3
    assert value(metrics, "fluxrpc_config_loaded_timestamp_seconds") == 1234
    assert value(metrics, "fluxrpc_config_last_reload_successful") == 1
    metrics.config_refused()
    assert value(metrics, "fluxrpc_config_last_reload_successful") == 0
    metrics.config_loaded(4, 1235.0)
    assert value(metrics, "fluxrpc_config_last_reload_successful") == 1


def test_what_is_not_configured_never_becomes_a_label(metrics: Metrics) -> None:
    evil = 'evil"\n'
    metrics.call_started(evil)
    metrics.call_finished(evil, GrpcCode.UNIMPLEMENTED, 0.1)
    metrics.request_finished(evil, "UNKNOWN_MODEL")
    metrics.attempt_finished(evil, Outcome.OK, evil, 0.1)
    metrics.failed_over(evil, evil)
    metrics.stream_committed(evil, 0.1)
    metrics.tokens_used(evil, Usage(input_tokens=1))
    metrics.breaker_changed("route", evil, "closed", "open")
    assert "evil" not in text(metrics)
    assert value(metrics, "fluxrpc_requests_total", model="unknown", reason="UNKNOWN_MODEL") == 1
    assert value(metrics, "fluxrpc_attempts_total", route="unknown", outcome="ok") == 1
    assert value(metrics, "fluxrpc_inflight", method="unknown") == 0
    assert value(metrics, "fluxrpc_breaker_transitions_total", layer="route", target="unknown", to="open") == 1
    assert value(metrics, "fluxrpc_breaker_state", layer="route", target="unknown") is None


def test_a_reload_keeps_what_is_still_named_and_drops_the_rest(metrics: Metrics) -> None:
    for route in ("fast/a/m", "fast/b/m", "gone"):
        metrics.attempt_finished(route, Outcome.OK, "", 0.1)
        metrics.breaker_changed("route", route, "closed", "open")
    metrics.breaker_changed("credential", "fast/b/m", "closed", "open")
    metrics.request_finished("fast", "OK")
    metrics.configure(models=["other"], routes=["fast/b/m", "new"], services=["b"], methods=[EXECUTE])
    assert value(metrics, "fluxrpc_attempts_total", route="fast/a/m", outcome="ok") is None
    assert value(metrics, "fluxrpc_attempt_duration_seconds_count", route="fast/a/m") is None
    assert value(metrics, "fluxrpc_attempts_total", route="fast/b/m", outcome="ok") == 1
    assert value(metrics, "fluxrpc_attempts_total", route="unknown", outcome="ok") == 1
    assert value(metrics, "fluxrpc_breaker_state", layer="route", target="fast/b/m") == 2
    assert value(metrics, "fluxrpc_breaker_state", layer="credential", target="fast/b/m") == 2
    assert value(metrics, "fluxrpc_breaker_state", layer="route", target="new") == 0
    assert value(metrics, "fluxrpc_breaker_state", layer="endpoint", target="a") is None
    assert value(metrics, "fluxrpc_breaker_transitions_total", layer="route", target="fast/a/m", to="open") is None
    assert value(metrics, "fluxrpc_requests_total", model="fast", reason="OK") is None


def scrape(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return str(answer.read().decode())


def test_the_listener_serves_what_prometheus_reads_and_closes(metrics: Metrics) -> None:
    metrics.request_finished("fast", "OK")
    listener = start_listener(metrics.registry, "127.0.0.1", 0)
    try:
        names = {family.name for family in text_string_to_metric_families(scrape(listener.port))}
        assert {"fluxrpc_requests", "fluxrpc_breaker_state", "process_resident_memory_bytes"} <= names
        with pytest.raises(OSError, match="in use"):
            start_listener(metrics.registry, "127.0.0.1", listener.port)
    finally:
        listener.close()
    listener.close()
    with pytest.raises(OSError, match="refused"):
        scrape(listener.port)


def test_two_registries_stand_side_by_side(metrics: Metrics) -> None:
    other = Metrics()
    metrics.request_finished("fast", "OK")
    assert "fluxrpc_requests_total{" not in text(other)
