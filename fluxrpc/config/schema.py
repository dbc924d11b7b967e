"""The settings: what can be configured, its defaults and its bounds. Values only, nothing here reads a file.

A field's name in YAML is its name here without the unit: `first_token_seconds` is `first_token: 120s`. Its annotation
names who reads it (`fluxrpc.config.values`). Durations are seconds, sizes are bytes. Policies are merged when the file
is loaded: `ServiceSettings.policy` and `RouteSettings.policy` are whole, nothing is looked up for each request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from fluxrpc.config.secret import ProxyUrl, Secret
from fluxrpc.config.values import (
    Address,
    Bytes,
    Count,
    DialectName,
    Factor,
    Flag,
    FromZero,
    ListenAddress,
    Name,
    PositiveNumber,
    Seconds,
    SecondsFromZero,
    Url,
    Workers,
)
from fluxrpc.protocols.base import Protocol
from fluxrpc.resilience.breaker import BreakerSettings

__all__ = [
    "AuthStyle",
    "BreakerPolicy",
    "CallerSettings",
    "Capabilities",
    "ConnectionAgeSettings",
    "Fidelity",
    "FilePath",
    "HttpSettings",
    "KeepaliveSettings",
    "Level",
    "LimitSettings",
    "LogFormat",
    "LogLevel",
    "LogSettings",
    "MediaSettings",
    "MetricsSettings",
    "ModelSettings",
    "PolicySettings",
    "ReadTimeoutBlames",
    "RouteSettings",
    "ServerSettings",
    "ServiceSettings",
    "Settings",
    "StreamUse",
    "TlsSettings",
]


class FilePath(str):
    """The path of a file that was readable at load. Relative ones start from the configuration file's folder."""

    __slots__ = ()


class Level(StrEnum):
    """The narrowest place where a policy setting may stand; it may always stand at a wider one."""

    GLOBAL = "global"
    SERVICE = "service"
    ROUTE = "route"


class LogFormat(StrEnum):
    """How log lines are written."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """The least important line that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class AuthStyle(StrEnum):
    """The header in which a service expects its key."""

    PROTOCOL = "protocol"
    """As its protocol has it: openai, responses, cohere `bearer`; anthropic `x-api-key`; gemini `x-goog-api-key`."""
    BEARER = "bearer"
    """`authorization: Bearer …`"""
    X_API_KEY = "x-api-key"
    API_KEY = "api-key"
    """Azure OpenAI"""
    X_GOOG_API_KEY = "x-goog-api-key"


class ReadTimeoutBlames(StrEnum):
    """What silence after connecting says."""

    ROUTE = "route"
    """The model is slow or sick."""
    ENDPOINT = "endpoint"
    """The host is dead: right behind load balancers that accept connections for it."""


class Fidelity(StrEnum):
    """What to do where a translation cannot say everything."""

    REPORT = "report"
    """Translate as well as possible, and note each change."""
    STRICT = "strict"
    """Use only routes that can say everything."""


class StreamUse(StrEnum):
    """Which calls a route can answer itself."""

    ANY = "any"
    ONLY = "only"
    """It can only stream: for unary calls its stream is gathered."""


DEFAULT_LISTEN = Address(host="127.0.0.1", port=50051)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """TLS towards callers. The files are read again when they change."""

    cert: FilePath
    """PEM chain, the server's own certificate first."""
    key: FilePath
    """PEM private key."""
    client_ca: FilePath | None = None
    """PEM bundle; where given, callers must show a certificate that it signed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepaliveSettings:
    """HTTP/2 pings between callers and us (https://grpc.io/docs/guides/keepalive/)."""

    time_seconds: Seconds = 60.0
    """A connection that is silent for this long is pinged, so that dead peers and idle-cutting proxies are found."""
    timeout_seconds: Seconds = 20.0
    """A ping unanswered for this long closes the connection."""
    min_ping_interval_seconds: Seconds = 30.0
    """Callers may ping this often; gRPC's own limit of 5 min would send GOAWAY to well-configured clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionAgeSettings:
    """One HTTP/2 connection sticks to one process: ageing spreads callers over new processes."""

    max_seconds: Seconds | None = 900.0
    """A connection older than this is asked to go (gRPC adds 10 % of jitter); null: never."""
    grace_seconds: Seconds = 660.0
    """Calls still running on it may take this long: longer than the default deadline, so that none is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The gRPC listener. A change needs a restart, but for the deadlines, `reserve` and `max_concurrent_rpcs`."""

    listen: ListenAddress = DEFAULT_LISTEN
    """Loopback by default: reachable from elsewhere only by choice."""
    workers: Workers = 1
    """Processes. Only 1 is supported."""
    tls: TlsSettings | None = None
    allow_plaintext: Flag = False
    """Listen off loopback without TLS: for meshes and proxies that encrypt."""
    allow_anonymous: Flag = False
    """Listen off loopback though nobody must prove who they are."""
    reflection: Flag = False
    """Serve the schema to grpcurl and the like. Off: production does not describe itself to strangers."""
    drain_delay_seconds: SecondsFromZero = 5.0
    """Between reporting NOT_SERVING and refusing calls: load balancers need it to look elsewhere."""
    grace_seconds: SecondsFromZero = 20.0
    """How long running calls may finish; delay + grace + 5 s fit into Kubernetes' default of 30 s."""
    default_deadline_seconds: Seconds = 600.0
    """For callers that set no deadline."""
    max_deadline_seconds: Seconds = 3600.0
    """Longer deadlines are cut to this."""
    reserve_seconds: SecondsFromZero = 0.05
    """The answer to a missed deadline leaves this much earlier, so that its details arrive."""
    max_message_bytes: Bytes = 32 * 1024 * 1024
    """Each way; gRPC's own 4 MiB refuse images. Clients must set it too."""
    max_concurrent_rpcs: Count = 10_000
    """Calls beyond this are refused with RESOURCE_EXHAUSTED: a backstop, health watches count too."""
    keepalive: KeepaliveSettings = KeepaliveSettings()
    connection_age: ConnectionAgeSettings = ConnectionAgeSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSettings:
    """Prometheus metrics, on a listener of their own. They hold names from this file and no secret."""

    listen: ListenAddress | None = None
    """null: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaSettings:
    """Images and documents by URL, for routes whose protocol takes the bytes only (gemini)."""

    fetch_urls: Flag = False
    """Fetch them. Off: such a URL is left out, with a note. Only public addresses are ever contacted."""
    max_file_bytes: Bytes = 20 * 1024 * 1024
    timeout_seconds: Seconds = 10.0
    """One file, redirects included."""
    max_redirects: FromZero = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Log lines, on standard error."""

    level: LogLevel = LogLevel.INFO
    format: LogFormat = LogFormat.JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerSettings:
    """Who may call. Where callers are listed, a call without a known token is UNAUTHENTICATED."""

    name: str
    """For logs and metrics."""
    token_digests: tuple[bytes, ...]
    """SHA-256 of each token that is valid (two while one replaces the other). The tokens themselves are not kept."""
    models: frozenset[str] | None = None
    """The models that it may use, patterns resolved; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy(BreakerSettings):
    """One circuit breaker: the breaker's own settings with the readers of their values."""

    failure_threshold: Count
    recovery_seconds: Seconds
    recovery_growth: Factor = 1.0
    recovery_max_seconds: Seconds = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """How much a provider may send. Beyond it the attempt fails with a clear error, nothing is cut to fit."""

    max_answer_bytes: Bytes = 32 * 1024 * 1024
    """A whole unary answer, decompressed."""
    max_event_bytes: Bytes = 16 * 1024 * 1024
    """One event of a stream: images come in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """How long, how often, and when a door shuts. Set globally, for a service, for a route: the narrower one wins."""

    fidelity: Annotated[Fidelity, Level.GLOBAL] = Fidelity.REPORT
    """For requests that do not say: what to do where a translation cannot say everything."""
    max_attempts: Annotated[Count, Level.GLOBAL] = 4
    """Attempts for one request, over all routes."""
    min_attempt_seconds: Annotated[Seconds, Level.GLOBAL] = 0.25
    """No attempt begins with less time left than this."""
    endpoint_probe_seconds: Annotated[Seconds, Level.GLOBAL] = 5.0
    """Where every route of a model is shut by its endpoint, one probe is admitted this often."""
    backoff_base_seconds: Annotated[Seconds, Level.GLOBAL] = 0.1
    """Before the n-th retry of the same route or endpoint: at random up to base * 2^(n-1)."""
    backoff_max_seconds: Annotated[Seconds, Level.GLOBAL] = 5.0
    """Where that doubling ends."""
    retries_per_route: FromZero = 1
    """Retries of the same route after a fault that may pass."""
    patience_seconds: SecondsFromZero = 3.0
    """Rather wait this long for a rate-limited route than use a less preferred one."""
    connect_seconds: Seconds = 5.0
    """DNS, TCP and TLS together."""
    first_token_seconds: Seconds = 120.0
    """Streams: from the request to the first content. Pings do not count."""
    idle_seconds: Seconds = 60.0
    """Streams: silence between two reads."""
    attempt_timeout_seconds: Seconds | None = None
    """One whole attempt; null: only the call's deadline bounds it. Long unary answers send their head last."""
    stream_end_seconds: Seconds = 2.0
    """A stream whose choices have all finished may stay open without its terminator this long."""
    read_timeout_blames: Annotated[ReadTimeoutBlames, Level.SERVICE] = ReadTimeoutBlames.ROUTE
    """What silence after connecting says, at this service."""
    route_breaker: BreakerPolicy = BreakerPolicy(failure_threshold=3, recovery_seconds=60.0)
    """Of one model at one service with one credential."""
    endpoint_breaker: Annotated[BreakerPolicy, Level.SERVICE] = BreakerPolicy(
        failure_threshold=1, recovery_seconds=120.0
    )
    """Of a service's network address: a refused connection is refused for every model."""
    credential_shut_seconds: Annotated[Seconds, Level.SERVICE] = 1800.0
    """A rejected or spent key is not used again for this long, or until a reload changes it."""
    limits: LimitSettings = LimitSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The HTTP client towards a service."""

    proxy: ProxyUrl | None = None
    """URL of a proxy. May be a reference, because it may hold a password."""
    trust_env: Flag = False
    """Take the proxy from HTTPS_PROXY and the like. Off: the environment of a process decides nothing by accident."""
    ca: FilePath | None = None
    """PEM bundle to trust instead of the system's."""
    keep_alive_seconds: Seconds = 30.0
    """Unused connections are closed after this; shorter than the 60 s at which common load balancers drop them."""
    max_connections: Count = 1000
    """Open at once to the service."""
    max_header_bytes: Bytes = 16 * 1024
    """One header line of an answer; more than 128 lines are refused too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """A provider."""

    name: str
    protocols: Mapping[Protocol, Url]
    """The base URL of each protocol that it speaks, with or without version suffix."""
    auth: AuthStyle = AuthStyle.PROTOCOL
    http: HttpSettings = HttpSettings()
    dialect: DialectName | None = None
    """openai: which copy of that protocol it speaks (`plain`: the old fields and no more); null: as its host tells."""
    anthropic_version: Name | None = None
    """anthropic: the version of the protocol (`anthropic-version`); null: the usual one."""
    include_usage: Flag = True
    """openai: ask for the usage frame of streams (`stream_options`). Off for servers that refuse the field."""
    policy: PolicySettings = PolicySettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a route can do and cannot do; what is null is as the built-in data says, and may be unknown.

    Under strict fidelity a route that cannot do what a request needs is passed over.
    """

    vision: Flag | None = None
    """Images in messages."""
    audio: Flag | None = None
    """Sound in messages."""
    documents: Flag | None = None
    """Documents (PDF and the like) in messages."""
    tools: Flag | None = None
    """Calls of functions."""
    json_schema: Flag | None = None
    """Answers of a schema."""
    reasoning: Flag | None = None
    """Reasoning before the answer."""
    prefill: Flag | None = None
    """Goes on from a half-written assistant turn."""
    context_tokens: Count | None = None
    """Size of the context: a request too long for another route may be tried here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """One model through one service with one credential."""

    service: Name
    model: Name
    """The provider's name of it."""
    credential: Secret | None = None
    """None: no key is sent (local servers)."""
    priority: FromZero = 0
    """Lower is preferred."""
    weight: PositiveNumber = 1.0
    """Share among equal priorities."""
    name: Name = ""
    """Unique; for logs, metrics and `RouteInfo`. By default `model name/service/provider's model`."""
    stream: StreamUse = StreamUse.ANY
    capabilities: Capabilities = Capabilities()
    gates: Mapping[str, Any] = field(default_factory=dict)
    """What its model refuses or demands, where the built-in data (`fluxrpc.protocols.gates`) has it otherwise."""
    policy: PolicySettings = PolicySettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """A name that callers use, and its routes."""

    name: str
    routes: tuple[RouteSettings, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A whole configuration that is known to be sound."""

    server: ServerSettings = ServerSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogSettings = LogSettings()
    media: MediaSettings = MediaSettings()
    policy: PolicySettings = PolicySettings()
    callers: Mapping[str, CallerSettings] = field(default_factory=dict)
    services: Mapping[str, ServiceSettings]
    models: Mapping[str, ModelSettings]

    def secrets(self) -> frozenset[Secret]:
        """Every secret in use, for the log's redaction."""
        of_routes = {route.credential for model in self.models.values() for route in model.routes}
        of_services = {service.http.proxy for service in self.services.values()}
        return frozenset(secret for secret in of_routes | of_services if secret is not None)
