"""Where a provider is reached and with which key: `Service`, `ServiceEndpoint`, `Credential`.

Each of the last two carries one door. The endpoint's breaker says whether the host answers at all and is shared by
every route through it; the credential's door says whether the provider takes the key. Neither knows of models: a
sick model shuts neither. Nothing here opens a connection.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NoReturn, final

from fluxrpc.clock import Monotonic, monotonic
from fluxrpc.protocols.base import Protocol, WireOptions
from fluxrpc.protocols.base_url import check_base_url
from fluxrpc.resilience.breaker import BreakerSettings, BreakerState, CircuitBreaker
from fluxrpc.resilience.door import CREDENTIAL_SHUT_SECONDS, CredentialDoor
from fluxrpc.upstream.address import AuthStyle
from fluxrpc.upstream.exchange import TransportSettings

ENDPOINT_BREAKER = BreakerSettings(failure_threshold=1, recovery_seconds=120.0)
"""A refused connection is refused for every model, so the first one says enough."""

EndpointHook = Callable[[str, BreakerState, BreakerState], None]
"""Told of each change of an endpoint's breaker: service name, old state, new state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A provider: its name, and one base URL for each protocol that it serves.

    Raises:
        ValueError: no name, no protocol, or a base URL that cannot be used.
    """

    name: str
    base_urls: Mapping[Protocol, str] = field(hash=False)
    """With or without version suffix; which path is joined to it is the transport's matter."""
    breaker: BreakerSettings = ENDPOINT_BREAKER
    read_timeout_blames_endpoint: bool = False
    """Silence after connecting means a dead host here, not a slow model."""
    wire_options: WireOptions = field(default_factory=WireOptions)
    dialect: str | None = None
    """openai: which copy of that protocol it speaks, such as `deepseek`; None: what its base URL tells."""
    anthropic_version: str = ""
    """anthropic: which version of the protocol it speaks; "" = the usual one."""
    auth_style: AuthStyle | None = None
    """How it wants its key; None: as each protocol has it."""
    transport: TransportSettings = field(default_factory=TransportSettings, hash=False)
    """How its hosts are reached."""

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a service has a name")
        if not self.base_urls:
            raise ValueError(f"service {self.name!r} speaks no protocol")
        # A copy of our own, in the order of preference: what is handed in may change later, we may not.
        urls = {Protocol(spoken): self.base_urls[spoken] for spoken in Protocol if spoken in self.base_urls}
        for protocol, url in urls.items():
            try:
                check_base_url(url)
            except ValueError as error:
                raise ValueError(f"service {self.name!r}, base URL of {protocol}: {error}") from None
        object.__setattr__(self, "base_urls", MappingProxyType(urls))

    def target_protocol(self, caller_protocol: Protocol | None) -> Protocol:
        """The protocol to speak to it: the caller's where it serves that, else the first by preference.

        A typed caller speaks none of them: None.
        """
        if caller_protocol is not None and caller_protocol in self.base_urls:
            return caller_protocol
        return next(iter(self.base_urls))


class ServiceEndpoint:
    """A service with the breaker of its network layer. Shared by all routes through it.

    Immutable but for the breaker: a changed configuration makes a successor, so that what still runs on the old one
    finds the service that it was planned with.
    """

    __slots__ = ("_clock", "_on_change", "breaker", "service")

    def __init__(
        self,
        service: Service,
        clock: Monotonic = monotonic,
        *,
        on_change: EndpointHook | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self._clock = clock
        self._on_change = on_change
        self.service = service
        self.breaker = breaker or CircuitBreaker(service.breaker, clock, on_change=self._report_change)

    def __repr__(self) -> str:
        return f"ServiceEndpoint({self.service.name!r}, {self.breaker.state.value})"

    def update(self, service: Service) -> ServiceEndpoint:
        """The endpoint of a changed service: the breaker goes with it, unless a base URL changed.

        What the old host did says nothing about the new one; what is still out at the old host reports to the old
        breaker. New thresholds count from now on.
        """
        if service.base_urls != self.service.base_urls:
            return ServiceEndpoint(service, self._clock, on_change=self._on_change)
        self.breaker.configure(service.breaker)
        return ServiceEndpoint(service, self._clock, on_change=self._on_change, breaker=self.breaker)

    def _report_change(self, old: BreakerState, new: BreakerState) -> None:
        if self._on_change is not None:
            self._on_change(self.service.name, old, new)


@final
class Credential:
    """A key of a service, with its door. Equal when the keys are equal; `Credential()` stands for "no key".

    The key leaves only through `reveal`: text, format, pickle and copies never show it. Use one object for each key
    of a service, over reloads too: the door is the object's.
    """

    __slots__ = ("_secret", "digest", "door")

    def __init__(self, secret: str = "", *, shut_seconds: float = CREDENTIAL_SHUT_SECONDS) -> None:
        self._secret = secret
        self.digest = blake2b(secret.encode(), digest_size=32, person=b"fluxrpc-cred").digest()
        """Names the key without showing it."""
        self.door = CredentialDoor(shut_seconds)

    def reveal(self) -> str:
        """The key in clear, for the place that sends it; "" where the service asks for none."""
        return self._secret

    def __repr__(self) -> str:
        return "Credential(…)"

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Credential):
            return NotImplemented
        return hmac.compare_digest(self.digest, other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __copy__(self) -> Credential:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Credential:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a credential is not serialised")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a credential is not serialised")


@dataclass(frozen=True, slots=True)
class Account:
    """One credential of one service: where provider-held state lives, and which it never leaves."""

    service: str
    credential: Credential
