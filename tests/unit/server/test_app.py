from __future__ import annotations

from fluxrpc.config.schema import ConnectionAgeSettings, KeepaliveSettings, ServerSettings
from fluxrpc.server.app import channel_options


def test_options_in_units_of_grpc() -> None:
    server = ServerSettings(
        max_message_bytes=1000,
        keepalive=KeepaliveSettings(time_seconds=60, timeout_seconds=0.0001, min_ping_interval_seconds=30),
        connection_age=ConnectionAgeSettings(max_seconds=900, grace_seconds=660),
    )
    options = dict(channel_options(server))
    assert options["grpc.keepalive_time_ms"] == 60_000
    assert options["grpc.keepalive_timeout_ms"] == 1  # 0 would mean something else
    assert options["grpc.http2.min_recv_ping_interval_without_data_ms"] == 30_000
    assert (options["grpc.max_connection_age_ms"], options["grpc.max_connection_age_grace_ms"]) == (900_000, 660_000)
    # Above our own limit, which says what is wrong.
    assert options["grpc.max_receive_message_length"] > 1000


def test_connections_need_not_age() -> None:
    server = ServerSettings(connection_age=ConnectionAgeSettings(max_seconds=None))
    assert not [name for name, _ in channel_options(server) if "age" in name and "message" not in name]
