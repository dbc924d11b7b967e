"""How a channel to the server is set up: one decision, for the async and the sync client.

What stands here follows the server's own limits: it takes messages of 32 MiB each way and pings every 30 s or slower.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

import grpc

__all__ = ["DEFAULT_TIMEOUT_SECONDS", "Connection", "Metadata", "default_service_config"]

DEFAULT_TIMEOUT_SECONDS = 600.0
"""What the server gives to calls without a deadline."""

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
_KEEPALIVE_MS = 60_000
_KEEPALIVE_TIMEOUT_MS = 20_000

Metadata = tuple[tuple[str, str | bytes], ...]
OptionValue = str | int | bytes


def default_service_config() -> str:
    """Retries, load balancing and health checks as JSON, for plain channels too: the option `grpc.service_config`.

    Only UNAVAILABLE is tried again, at most once and throttled: the server has made its own attempts already.
    See https://github.com/grpc/grpc/blob/master/doc/service_config.md.
    """
    return files("fluxrpc_client").joinpath("service_config.json").read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where the server is and who calls. Raises `ValueError` where a token would cross a network in the clear."""

    target: str
    """`HOST:PORT`, or any gRPC target such as `dns:///HOST:PORT`."""
    token: str | None = field(default=None, repr=False)
    tls: bool | grpc.ChannelCredentials = False
    allow_plaintext: bool = False
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.token is not None and not self.tls and not self.allow_plaintext and not is_local(self.target):
            raise ValueError(
                f"the token would go to {self.target} unencrypted: "
                "set tls=True, or allow_plaintext=True where the network encrypts"
            )

    @property
    def credentials(self) -> grpc.ChannelCredentials | None:
        """None: plaintext."""
        if isinstance(self.tls, grpc.ChannelCredentials):
            return self.tls
        return grpc.ssl_channel_credentials() if self.tls else None

    @property
    def channel_options(self) -> Sequence[tuple[str, OptionValue]]:
        """The arguments of the channel; those of `options` win."""
        defaults: dict[str, OptionValue] = {
            "grpc.service_config": default_service_config(),
            "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
            "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
            "grpc.keepalive_time_ms": _KEEPALIVE_MS,
            "grpc.keepalive_timeout_ms": _KEEPALIVE_TIMEOUT_MS,
            # Idle channels too, so that what cuts idle connections is found out before the next call.
            "grpc.keepalive_permit_without_calls": 1,
            # A stream may be silent until its first token, and is pinged all the same.
            "grpc.http2.max_pings_without_data": 0,
        }
        return tuple({**defaults, **self.options}.items())

    def metadata(self, request_id: str | None) -> Metadata:
        """What goes with every call. Not call credentials, which gRPC refuses to send without TLS, loopback or not."""
        pairs: list[tuple[str, str | bytes]] = []
        if self.token is not None:
            pairs.append(("authorization", f"Bearer {self.token}"))
        if request_id is not None:
            pairs.append(("x-request-id", request_id))
        return tuple(pairs)


_SCHEME = re.compile(r"^(?:dns:(?://[^/]*/)?|ipv[46]:|passthrough:///)")


def is_local(target: str) -> bool:
    """Whether a gRPC target stays on this machine; where that cannot be told it does not."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    return all(_is_loopback(address) for address in _SCHEME.sub("", target).split(","))


def _is_loopback(address: str) -> bool:
    host = address[1:].partition("]")[0] if address.startswith("[") else address.partition(":")[0]
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
