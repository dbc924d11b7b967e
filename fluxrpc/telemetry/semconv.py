"""Every name of a metric, label and log field, in one place.

RPC names follow the OpenTelemetry semantic conventions (v1.44), GenAI names those of the repository
open-telemetry/semantic-conventions-genai, whose names still change: that is why they stand only here. Prometheus writes
underscores for dots and the unit at the end
(https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/).
"""

from __future__ import annotations

# Metrics
RPC_SERVER_CALL_DURATION = "rpc_server_call_duration_seconds"
GEN_AI_INPUT_TOKENS = "gen_ai_client_usage_input_tokens"  # a metric, not a password
GEN_AI_OUTPUT_TOKENS = "gen_ai_client_usage_output_tokens"  # a metric, not a password
GEN_AI_CACHE_READ_TOKENS = "gen_ai_client_usage_cache_read_input_tokens"  # a metric, not a password
GEN_AI_CACHE_WRITE_TOKENS = "gen_ai_client_usage_cache_write_input_tokens"  # a metric, not a password
BREAKER_STATE = "fluxrpc_breaker_state"
BREAKER_TRANSITIONS = "fluxrpc_breaker_transitions"
ATTEMPTS = "fluxrpc_attempts"
ATTEMPT_DURATION = "fluxrpc_attempt_duration_seconds"
FAILOVERS = "fluxrpc_failovers"
NOTES = "fluxrpc_translation_notes"
STREAM_COMMIT_LATENCY = "fluxrpc_stream_commit_latency_seconds"
INFLIGHT = "fluxrpc_inflight"
REQUESTS = "fluxrpc_requests"
CONFIG_GENERATION = "fluxrpc_config_generation"
CONFIG_LOADED_AT = "fluxrpc_config_loaded_timestamp_seconds"
CONFIG_LAST_RELOAD_OK = "fluxrpc_config_last_reload_successful"

# Labels of metrics, fields of log lines
METHOD = "method"
FROM = "from"
CODE = "code"
REASON = "reason"
MODEL = "model"
ROUTE = "route"
OUTCOME = "outcome"
LAYER = "layer"
TARGET = "target"
TO = "to"
CALLER = "caller"
TAGS = "tags"
REQUEST_ID = "request_id"
DURATION = "duration_seconds"
ATTEMPT_COUNT = "attempts"
INPUT_TOKENS = "input_tokens"  # a field, not a password
OUTPUT_TOKENS = "output_tokens"  # a field, not a password

UNKNOWN = "unknown"
"""The label of whatever the configuration does not name: a caller's text never becomes a label."""

DURATION_BUCKETS_SECONDS = (
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0, 60.0, 120.0,
)  # fmt: skip
"""The convention's buckets end at 10 s; models answer for longer."""
