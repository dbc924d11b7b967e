from __future__ import annotations

from structlog.testing import capture_logs

from fluxrpc.errors import Outcome
from fluxrpc.telemetry.door_log import DoorLog


def test_a_rejected_key_is_named_by_its_route() -> None:
    with capture_logs() as lines:
        DoorLog().attempt_finished("m/s/x", Outcome.CREDENTIAL, "CREDENTIAL_REJECTED", 0.1)
        DoorLog().attempt_finished("m/s/x", Outcome.MODEL, "PROVIDER_ERROR", 0.1)
    assert lines == [
        {"event": "credential_shut", "log_level": "warning", "route": "m/s/x", "reason": "CREDENTIAL_REJECTED"}
    ]


def test_an_opening_breaker_is_a_warning() -> None:
    with capture_logs() as lines:
        DoorLog().breaker_changed("route", "m/s/x", "closed", "open")
        DoorLog().breaker_changed("endpoint", "s", "half-open", "closed")
    assert [(line["log_level"], line["layer"], line["new"]) for line in lines] == [
        ("warning", "route", "open"),
        ("info", "endpoint", "closed"),
    ]
