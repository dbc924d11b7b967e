"""How the Python client sets up its channel, and that both clients are set up alike."""

from __future__ import annotations

import json
from pathlib import Path

import grpc
import pytest

from fluxrpc_client import default_service_config
from fluxrpc_client.connection import Connection, is_local

GO_CLIENT = Path(__file__).resolve().parents[3] / "clients/go"


def test_both_clients_ship_the_same_service_config() -> None:
    assert (GO_CLIENT / "service_config.json").read_text("utf-8") == default_service_config()


def test_only_unavailable_is_tried_again_and_only_once() -> None:
    config = json.loads(default_service_config())
    policies = [method["retryPolicy"] for method in config["methodConfig"]]
    assert [(p["maxAttempts"], p["retryableStatusCodes"]) for p in policies] == [(2, ["UNAVAILABLE"])] * 2
    assert config["retryThrottling"]
    assert config["loadBalancingConfig"] == [{"round_robin": {}}]


def test_options_replace_ours_and_add_to_them() -> None:
    options = dict(Connection(target="a:1", options={"grpc.keepalive_time_ms": 1, "x": "y"}).channel_options)
    assert options["grpc.keepalive_time_ms"] == 1
    assert options["x"] == "y"
    assert options["grpc.max_receive_message_length"] == options["grpc.max_send_message_length"] == 32 * 1024 * 1024


def test_pings_are_no_faster_than_the_server_takes_them() -> None:
    assert int(dict(Connection(target="a:1").channel_options)["grpc.keepalive_time_ms"]) >= 30_000


def test_metadata_holds_what_is_known() -> None:
    connection = Connection(target="localhost:1", token="t")
    assert connection.metadata("r") == (("authorization", "Bearer t"), ("x-request-id", "r"))
    assert Connection(target="a:1").metadata(None) == ()
    assert "Bearer" not in repr(connection)
    assert "token" not in repr(connection)


@pytest.mark.parametrize(
    ("target", "local"),
    [
        ("localhost:50051", True),
        ("localhost", True),
        ("127.0.0.1:50051", True),
        ("127.8.8.8:1", True),
        ("[::1]:50051", True),
        ("ipv4:127.0.0.1:50051", True),
        ("ipv6:[::1]:50051", True),
        ("dns:///localhost:50051", True),
        ("dns:localhost:50051", True),
        ("passthrough:///127.0.0.1:1", True),
        ("unix:///run/fluxrpc.sock", True),
        ("unix-abstract:fluxrpc", True),
        ("10.0.0.1:50051", False),
        ("[2001:db8::1]:50051", False),
        ("ipv4:127.0.0.1:1,10.0.0.1:1", False),
        ("ipv6:[::1]:1,[2001:db8::1]:1", False),
        ("localhost.example.com:1", False),
        ("dns://127.0.0.1/example.com:1", False),
        ("xds:///localhost", False),
        ("fluxrpc:50051", False),
    ],
)
def test_a_token_leaves_this_machine_only_encrypted(target: str, local: bool) -> None:
    assert is_local(target) is local
    Connection(target=target)
    Connection(target=target, token="t", tls=True)
    Connection(target=target, token="t", allow_plaintext=True)
    if local:
        Connection(target=target, token="t")
    else:
        with pytest.raises(ValueError, match="unencrypted"):
            Connection(target=target, token="t")


def test_tls_is_off_the_systems_or_the_callers() -> None:
    own = grpc.ssl_channel_credentials()
    assert Connection(target="a:1").credentials is None
    assert isinstance(Connection(target="a:1", tls=True).credentials, grpc.ChannelCredentials)
    assert Connection(target="a:1", tls=own).credentials is own
