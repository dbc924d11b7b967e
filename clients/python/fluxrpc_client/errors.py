"""Every way a call can fail, as one small tree. An error is named after what happened.

    FluxError
    ├── InvalidRequest              INVALID_ARGUMENT: the request is at fault; `violations` says where
    │   ├── ContextLengthExceeded   longer than the model's context
    │   └── ContentRefused          refused by the provider's content policy
    ├── UnknownModel                NOT_FOUND; `nearest` holds similar names
    ├── Unauthenticated             UNAUTHENTICATED: the token of this client
    ├── PermissionDenied            PERMISSION_DENIED: this client may not use that model
    ├── ResourceExhausted           RESOURCE_EXHAUSTED
    │   ├── RateLimited             by the providers, or by limits set for this client
    │   ├── Overloaded              the server runs as many calls as it may
    │   └── TooLarge                a request or an answer is over a limit
    ├── FailedPrecondition          FAILED_PRECONDITION
    │   ├── CredentialFailed        the server's key at the provider, not the token of this client
    │   ├── NotExpressible          no route can say the request, under strict fidelity
    │   └── StateNotPortable        the request holds state of a provider account that cannot serve now
    ├── Unimplemented               UNIMPLEMENTED: this server does not know the method
    ├── Unavailable                 UNAVAILABLE, also where the server itself is not reached
    │   ├── ProviderFailed          every attempt failed
    │   ├── CircuitOpen             every door is shut; `retry_after_seconds` says for how long
    │   └── StreamInterrupted       the answer had begun and broke off
    │       ├── IncompleteStream    the stream ended well, but without `completed`
    │       └── AnswerRestarted     another route began the answer anew; what was given is void
    ├── DeadlineExceeded            DEADLINE_EXCEEDED
    ├── Cancelled                   CANCELLED, not by this program's own task
    └── InternalError               INTERNAL and whatever else there is: a bug of the server; its log knows `request_id`

The class is chosen by the reason that the server gives, else by the status code: new reasons fall back to the class
of their code, so that `except Unavailable` keeps meaning what it says.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import grpc

from fluxrpc_client.v1 import Attempt, NativeError, Usage

__all__ = [
    "AnswerRestarted",
    "Cancelled",
    "CircuitOpen",
    "ContentRefused",
    "ContextLengthExceeded",
    "CredentialFailed",
    "DeadlineExceeded",
    "FailedPrecondition",
    "Failure",
    "FieldViolation",
    "FluxError",
    "IncompleteStream",
    "InternalError",
    "InvalidRequest",
    "NotExpressible",
    "Overloaded",
    "PermissionDenied",
    "ProviderFailed",
    "RateLimited",
    "ResourceExhausted",
    "StateNotPortable",
    "StreamInterrupted",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnknownModel",
    "error_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldViolation:
    """One bad field: its path in the request (`messages[2].content`), and what was expected there."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a status other than OK says."""

    code: grpc.StatusCode
    message: str
    reason: str = ""
    """In UPPER_SNAKE; empty where the status came without details, as gRPC's own do."""
    request_id: str = ""
    """As in the server's logs."""
    retry_after_seconds: float | None = None
    """How long to wait before trying again; None: waiting is not known to help."""
    attempts: tuple[Attempt, ...] = ()
    """What the server tried, oldest first; a long list comes shortened."""
    partial_usage: Usage | None = None
    """Tokens of an answer that broke off."""
    native: NativeError | None = None
    """The error in the caller's protocol."""
    violations: tuple[FieldViolation, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    """Of `google.rpc.ErrorInfo`."""


class FluxError(Exception):
    """Base of all: a call failed. Each attribute is that of `Failure`."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure
        self.code = failure.code
        self.message = failure.message
        self.reason = failure.reason
        self.request_id = failure.request_id
        self.retry_after_seconds = failure.retry_after_seconds
        self.attempts = failure.attempts
        self.partial_usage = failure.partial_usage
        self.native = failure.native

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.code.name, self.reason)))
        asides = [f"request {self.request_id}"] if self.request_id else []
        if self.retry_after_seconds is not None:
            asides.append(f"retry in {self.retry_after_seconds:g} s")
        return f"{what}: {self.message}" + (f" ({', '.join(asides)})" if asides else "")


class InvalidRequest(FluxError):
    """The request is at fault: another try will not help."""

    @property
    def violations(self) -> tuple[FieldViolation, ...]:
        """The fields at fault, where they are known."""
        return self.failure.violations


class ContextLengthExceeded(InvalidRequest):
    """The request is longer than the model's context."""


class ContentRefused(InvalidRequest):
    """The provider's content policy refused the request."""


class UnknownModel(FluxError):
    """The server has no model of that name."""

    @property
    def nearest(self) -> tuple[str, ...]:
        """Names that are like it, the nearest first."""
        return tuple(name for name in self.failure.metadata.get("nearest", "").split(", ") if name)


class Unauthenticated(FluxError):
    """The token of this client is missing or unknown."""


class PermissionDenied(FluxError):
    """This client may not do that."""


class ResourceExhausted(FluxError):
    """Too much or too often."""


class RateLimited(ResourceExhausted):
    """The providers limit the rate, or the server limits that of this client."""


class Overloaded(ResourceExhausted):
    """The server runs as many calls as it may."""


class TooLarge(ResourceExhausted):
    """A request or an answer is over a limit."""


class FailedPrecondition(FluxError):
    """The request is sound, but cannot be served in the present state."""


class CredentialFailed(FailedPrecondition):
    """The server's key was rejected or its quota is spent. This client did nothing wrong."""


class NotExpressible(FailedPrecondition):
    """No route can say all of the request, and the caller asked for strict fidelity."""


class StateNotPortable(FailedPrecondition):
    """The request holds state of one provider account, and the route to it cannot serve now."""


class Unimplemented(FluxError):
    """This server cannot do that."""


class Unavailable(FluxError):
    """Neither request nor caller is at fault: another try may help."""


class ProviderFailed(Unavailable):
    """Every attempt met a fault of a provider or of the network behind the server."""


class CircuitOpen(Unavailable):
    """Every route of the model failed lately and is not tried for now."""


class StreamInterrupted(Unavailable):
    """The answer had begun and then broke off: what was received is not complete."""


class IncompleteStream(StreamInterrupted):
    """The stream ended with OK but without `completed`: something between dropped its end."""


class AnswerRestarted(StreamInterrupted):
    """Another route began the answer anew, and the text already given cannot be taken back."""


class DeadlineExceeded(FluxError):
    """No answer within the time that the call was given."""


class Cancelled(FluxError):
    """The call was cancelled, though not by its own task."""


class InternalError(FluxError):
    """A fault of the server."""


_BY_REASON: dict[str, type[FluxError]] = {
    "ANSWER_RESTARTED": AnswerRestarted,
    "CIRCUIT_OPEN": CircuitOpen,
    "CONTENT_REFUSED": ContentRefused,
    "CONTEXT_LENGTH_EXCEEDED": ContextLengthExceeded,
    "NOT_EXPRESSIBLE": NotExpressible,
    "OVERLOADED": Overloaded,
    "PROVIDER_CREDENTIAL": CredentialFailed,
    "PROVIDER_FAILED": ProviderFailed,
    "RATE_LIMITED": RateLimited,
    "STATE_NOT_PORTABLE": StateNotPortable,
    "STREAM_INCOMPLETE": IncompleteStream,
    "STREAM_INTERRUPTED": StreamInterrupted,
    "TOO_LARGE": TooLarge,
    "UNKNOWN_MODEL": UnknownModel,
}

_BY_CODE: dict[grpc.StatusCode, type[FluxError]] = {
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: UnknownModel,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.UNIMPLEMENTED: Unimplemented,
}


def error_of(failure: Failure) -> FluxError:
    """The error for a failure: by its reason, else by its code."""
    kind = _BY_REASON.get(failure.reason) or _BY_CODE.get(failure.code, InternalError)
    return kind(failure)
