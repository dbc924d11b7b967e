"""Every way a call can fail, as one small tree.

    FluxError
    ├── ConfigError                 a configuration file cannot be used; lists every fault with its place
    ├── RequestError                the caller's doing; no provider is to blame
    │   ├── InvalidRequest          INVALID_ARGUMENT, with field paths
    │   ├── RequestTooLarge         RESOURCE_EXHAUSTED
    │   ├── UnknownModel            NOT_FOUND, with the nearest names
    │   ├── Unauthenticated         UNAUTHENTICATED: the caller's own token
    │   ├── PermissionDenied        PERMISSION_DENIED: the caller may not use this
    │   └── RouteUnfit              FAILED_PRECONDITION: no route can serve it, however healthy
    │       ├── NotExpressible      no route can say it
    │       └── StateNotPortable    it is bound to a provider that cannot serve it now
    ├── AttemptError                one attempt of one route failed; carries its `Outcome`
    │   ├── NetworkFault            no answer can come: DNS, refused, TLS, connect timeout, early reset
    │   │   └── StaleConnection     a reused keep-alive socket was dead: one reconnect, nobody's fault
    │   ├── SilenceFault            connected, then silence past a limit
    │   ├── LocalFault              this process is out of file descriptors or shutting down: nobody's fault
    │   ├── ProviderError           the provider answered with an error (status, code word, body)
    │   └── AnswerFault             the provider answered rubbish: empty, HTML, cut, malformed, redirect
    │       └── AnswerOversize      … or more than our limits allow
    └── RoutingError                what the caller is told once no attempt is left; carries the attempts
        ├── DeadlineExceeded        DEADLINE_EXCEEDED
        ├── CircuitOpen             UNAVAILABLE: all doors are shut
        ├── ProviderFailed          UNAVAILABLE
        ├── StreamInterrupted       UNAVAILABLE: the answer had begun
        ├── RateLimited             RESOURCE_EXHAUSTED
        ├── CredentialFailed        FAILED_PRECONDITION: our key, not the caller's
        ├── ProviderRejected        INVALID_ARGUMENT: the provider says that the request is at fault
        │   ├── ContextLengthExceeded   INVALID_ARGUMENT
        │   └── ContentRefused          INVALID_ARGUMENT
        └── AnswerTooLarge          RESOURCE_EXHAUSTED

An error has two texts. `str(error)` is for the log. `safe_message` may leave the process: it holds nothing of
a foreign exception, no header, no key and no URL. The edge never maps an error by hand: `code` and `reason`
are class attributes, and this is the one table from errors to gRPC statuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import ClassVar

from fluxrpc.v1.outcome_pb2 import Attempt
from fluxrpc.v1.usage_pb2 import Usage

__all__ = [
    "CODE_NAMES",
    "HIDDEN",
    "MIN_SECRET_LENGTH",
    "AnswerFault",
    "AnswerOversize",
    "AnswerTooLarge",
    "AttemptError",
    "CircuitOpen",
    "ConfigError",
    "ConfigFault",
    "ContentRefused",
    "ContextLengthExceeded",
    "CredentialFailed",
    "DeadlineExceeded",
    "FieldViolation",
    "FluxError",
    "GrpcCode",
    "InvalidRequest",
    "LocalFault",
    "NativeErrorBody",
    "NetworkFault",
    "NotExpressible",
    "Outcome",
    "PermissionDenied",
    "ProviderError",
    "ProviderFailed",
    "ProviderRejected",
    "RateLimited",
    "RequestError",
    "RequestTooLarge",
    "RouteUnfit",
    "RoutingError",
    "SilenceFault",
    "StaleConnection",
    "StateNotPortable",
    "StreamInterrupted",
    "Unauthenticated",
    "UnknownModel",
]


HIDDEN = "[hidden]"
MIN_SECRET_LENGTH = 6
"""Shorter values stand in ordinary words; hiding those would garble texts and protect nothing."""


class GrpcCode(IntEnum):
    """The canonical gRPC status codes that we use (https://grpc.github.io/grpc/core/md_doc_statuscodes.html)."""

    OK = 0
    CANCELLED = 1
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


CODE_NAMES = {code: code.name for code in GrpcCode}
"""`name` of an enum member is computed at each access, and logs and metrics ask for it with every call."""


class Outcome(StrEnum):
    """What one attempt came to. Each settles three doors (see `fluxrpc.resilience.blame`)."""

    OK = "ok"
    REFUSED = "refused"
    CALLER = "caller"
    LIMITED = "limited"
    CREDENTIAL = "credential"
    MODEL = "model"
    NETWORK = "network"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeErrorBody:
    """An error as a provider wrote it: protocol (`openai`, …), HTTP status, allow-listed headers, body."""

    protocol: str
    http_status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class FluxError(Exception):
    """Base of all errors that this package raises on purpose."""

    code: ClassVar[GrpcCode] = GrpcCode.INTERNAL
    reason: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, *, safe_message: str | None = None) -> None:
        super().__init__(message)
        self.safe_message = message if safe_message is None else safe_message


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFault:
    """One fault of a configuration: where it stands, the path of the setting, what was expected."""

    file: str
    line: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}"
        return f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"


class ConfigError(FluxError):
    """A configuration cannot be used. `faults` lists all that is wrong, in the order of the file."""

    code = GrpcCode.FAILED_PRECONDITION
    reason = "CONFIG_INVALID"

    def __init__(self, faults: Sequence[ConfigFault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


# --- the caller's doing ------------------------------------------------------------------------------------------


class RequestError(FluxError):
    """The request cannot be served as it is, whatever the providers do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldViolation:
    """One bad field: `path` in the caller's own body (`messages[2].content`), what was expected there."""

    path: str
    message: str


class InvalidRequest(RequestError):
    """The caller's input is wrong at the given places."""

    code = GrpcCode.INVALID_ARGUMENT
    reason = "INVALID_REQUEST"

    def __init__(self, violations: Sequence[FieldViolation]) -> None:
        super().__init__("; ".join(f"{v.path}: {v.message}" if v.path else v.message for v in violations))
        self.violations = tuple(violations)

    @classmethod
    def at(cls, path: str, message: str) -> InvalidRequest:
        """The common case: one violation."""
        return cls([FieldViolation(path=path, message=message)])


class RequestTooLarge(RequestError):
    """The body is over a limit of ours."""

    code = GrpcCode.RESOURCE_EXHAUSTED
    reason = "TOO_LARGE"


class UnknownModel(RequestError):
    """No route table has this name."""

    code = GrpcCode.NOT_FOUND
    reason = "UNKNOWN_MODEL"

    def __init__(self, model: str, nearest: Sequence[str] = ()) -> None:
        hint = f"; did you mean {', '.join(nearest)}?" if nearest else ""
        super().__init__(f"no model named {model[:200]!r}{hint}")
        self.model = model
        self.nearest = tuple(nearest)


class Unauthenticated(RequestError):
    """The caller's own token is missing or wrong."""

    code = GrpcCode.UNAUTHENTICATED
    reason = "UNAUTHENTICATED"


class PermissionDenied(RequestError):
    """The caller is known but may not do this."""

    code = GrpcCode.PERMISSION_DENIED
    reason = "PERMISSION_DENIED"


class RouteUnfit(RequestError):
    """A route cannot serve the request whatever its health: it is passed over, and the caller told where all are.

    `violations` name what is in the way by its place in the caller's body; `detail` is a short safe word for the trace.
    """

    code = GrpcCode.FAILED_PRECONDITION

    def __init__(self, message: str, *, violations: Sequence[FieldViolation] = (), detail: str = "") -> None:
        super().__init__(message)
        self.violations = tuple(violations)
        self.detail = detail or self.reason
        self.attempts: tuple[Attempt, ...] = ()
        """The routes that were passed over."""


class NotExpressible(RouteUnfit):
    """Under strict fidelity a route's protocol or model cannot say what the request says."""

    reason = "NOT_EXPRESSIBLE"


class StateNotPortable(RouteUnfit):
    """The request holds state of one provider account, and no route to it can serve now."""

    reason = "STATE_NOT_PORTABLE"


# --- one attempt -------------------------------------------------------------------------------------------------


class AttemptError(FluxError):
    """One attempt failed. `outcome` names what it settles, `detail` is a short safe word for the attempt's trace."""

    code = GrpcCode.UNAVAILABLE
    reason = "PROVIDER_FAILED"
    outcome: Outcome = Outcome.MODEL
    retry_same_route: bool = False
    """The fault may pass by itself: the same route may be tried once more after a back-off."""

    def __init__(self, detail: str, message: str | None = None) -> None:
        super().__init__(message or detail, safe_message=detail)
        self.detail = detail
        self.http_status = 0
        """Of the answer that was met; 0: none came."""


class NetworkFault(AttemptError):
    """The endpoint cannot be reached: no byte of an answer came over a fresh connection."""

    outcome = Outcome.NETWORK


class StaleConnection(NetworkFault):
    """A reused keep-alive connection was closed by the peer before any byte came: reconnect once, blame nobody."""


class SilenceFault(AttemptError):
    """The provider accepted the connection and then said nothing (or stopped) for longer than a limit allows."""


class LocalFault(AttemptError):
    """The attempt could not be made for a reason of this process (no file descriptor left): blames no one."""

    outcome = Outcome.ABANDONED


class AnswerFault(AttemptError):
    """The provider's answer is unusable: empty, HTML, cut, malformed, an unfollowed redirect."""


class AnswerOversize(AnswerFault):
    """The provider's answer is over a limit of ours; another route would hardly answer shorter."""


class ProviderError(AttemptError):
    """The provider answered with an error of its own.

    `outcome` is decided by `fluxrpc.protocols.classify` from status, code word and body.
    """

    def __init__(
        self,
        detail: str,
        *,
        outcome: Outcome,
        http_status: int,
        provider_code: str = "",
        provider_message: str = "",
        retry_after_seconds: float | None = None,
        retry_same_route: bool = False,
        context_length: bool = False,
        content_refused: bool = False,
        native: NativeErrorBody | None = None,
    ) -> None:
        super().__init__(detail, f"{detail}: {provider_message}" if provider_message else detail)
        self.outcome = outcome
        self.http_status = http_status
        self.provider_code = provider_code
        self.provider_message = provider_message
        self.retry_after_seconds = retry_after_seconds
        self.retry_same_route = retry_same_route
        self.context_length = context_length
        self.content_refused = content_refused
        self.native = native

    def hide(self, secret: str) -> None:
        """Take a key of ours out of the provider's words: some repeat it, and their words reach callers and logs."""
        if len(secret) < MIN_SECRET_LENGTH:
            return
        self.args = tuple(arg.replace(secret, HIDDEN) if isinstance(arg, str) else arg for arg in self.args)
        self.provider_message = self.provider_message.replace(secret, HIDDEN)
        if self.native is not None:
            body = self.native.body.replace(secret.encode(), HIDDEN.encode())
            self.native = replace(self.native, body=body)


# --- what the caller is told -------------------------------------------------------------------------------------


class RoutingError(FluxError):
    """No attempt is left. Carries what the caller may know of the attempts, and how long waiting might help."""

    code = GrpcCode.UNAVAILABLE
    reason = "PROVIDER_FAILED"

    def __init__(
        self,
        message: str,
        *,
        attempts: Sequence[Attempt] = (),
        partial_usage: Usage | None = None,
        native: NativeErrorBody | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.attempts = tuple(attempts)
        self.partial_usage = partial_usage
        self.native = native
        self.retry_after_seconds = retry_after_seconds


class DeadlineExceeded(RoutingError):
    """The caller's deadline leaves no room for an answer."""

    code = GrpcCode.DEADLINE_EXCEEDED
    reason = "DEADLINE_EXCEEDED"


class CircuitOpen(RoutingError):
    """Every door is shut; `retry_after_seconds` is the soonest recovery."""

    reason = "CIRCUIT_OPEN"


class ProviderFailed(RoutingError):
    """Every attempt met a fault of a provider or of the network."""


class StreamInterrupted(RoutingError):
    """The answer had begun and then broke off. It is not complete."""

    reason = "STREAM_INTERRUPTED"


class RateLimited(RoutingError):
    """Providers limit our rate, and nothing is left to try."""

    code = GrpcCode.RESOURCE_EXHAUSTED
    reason = "RATE_LIMITED"


class CredentialFailed(RoutingError):
    """Our key was rejected or its quota is spent, and nothing is left to try. The caller did nothing wrong."""

    code = GrpcCode.FAILED_PRECONDITION
    reason = "PROVIDER_CREDENTIAL"


class ProviderRejected(RoutingError):
    """The provider says that the request itself is at fault (400, 413, 422)."""

    code = GrpcCode.INVALID_ARGUMENT
    reason = "INVALID_REQUEST"


class ContextLengthExceeded(ProviderRejected):
    """The request is longer than the model's context."""

    reason = "CONTEXT_LENGTH_EXCEEDED"


class ContentRefused(ProviderRejected):
    """The provider's content policy refused the request with an error status."""

    reason = "CONTENT_REFUSED"


class AnswerTooLarge(RoutingError):
    """A provider's answer is over a limit of ours. It is never cut to fit."""

    code = GrpcCode.RESOURCE_EXHAUSTED
    reason = "TOO_LARGE"
