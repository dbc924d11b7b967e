"""Requests as they come over gRPC, read into what the router takes. What is wrong is named by its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.duration_pb2 import Duration
from msgspec import Struct

from fluxrpc.config.schema import Fidelity, PolicySettings
from fluxrpc.errors import FieldViolation, GrpcCode, InvalidRequest, RequestError
from fluxrpc.ir.validate import validate_request
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import CallerRequest
from fluxrpc.protocols.bridge import read_request as read_native
from fluxrpc.routing.options import CallOptions
from fluxrpc.server.call import Call
from fluxrpc.upstream.headers import inbound
from fluxrpc.v1 import router_pb2 as wire
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_DROPPED, TranslationNote
from fluxrpc.v1.protocol_pb2 import Protocol as WireProtocol
from fluxrpc.v1.router_pb2 import ExecuteOptions, ExecuteRequest, TranslateRequest

MAX_ATTEMPTS_LIMIT = 16
_MAX_MODEL_CHARACTERS = 256
_MAX_SECONDS = 86_400
_MAX_TAGS = 16
_MAX_TAG_KEY_CHARACTERS = 64
_MAX_TAG_VALUE_CHARACTERS = 256
PROTOCOLS = {WireProtocol.Value(f"PROTOCOL_{protocol.name}"): protocol for protocol in Protocol}
"""The protocols by the contract's number."""
WIRE_PROTOCOLS = {protocol: number for number, protocol in PROTOCOLS.items()}
"""The contract's number of each protocol."""


class Unsupported(RequestError):
    """The contract knows it, this version does not do it yet. Better said than silently left undone."""

    code = GrpcCode.UNIMPLEMENTED
    reason = "UNSUPPORTED"


class Asked(Struct, frozen=True, kw_only=True):
    """What a caller asked: the model, the request, how to execute it."""

    model: str
    request: CallerRequest
    options: CallOptions
    max_attempts: int
    notes: tuple[TranslationNote, ...]
    """What of the request was left out before it was read (headers)."""


def read_execute(message: ExecuteRequest, call: Call, policy: PolicySettings) -> Asked:
    """Read a request of Execute or ExecuteStream.

    Raises:
        InvalidRequest: with the path of each fault.
        Unsupported: an option that this version does not know how to honour.
    """
    request, headers, notes = read_request(message, call)
    model = model_name(message.model, request)
    if not message.HasField("options"):  # the usual case: nothing is set
        strict = policy.fidelity is Fidelity.STRICT
        options, max_attempts = CallOptions(ends_at=call.ends_at, strict=strict, headers=headers), policy.max_attempts
    else:
        options = _call_options(message.options, headers, call, policy)
        max_attempts = _max_attempts(message.options, policy.max_attempts)
    return Asked(model=model, request=request, options=options, max_attempts=max_attempts, notes=notes)


def read_request(
    message: ExecuteRequest | TranslateRequest, call: Call
) -> tuple[CallerRequest, tuple[tuple[str, str], ...], tuple[TranslationNote, ...]]:
    """The request itself, its allowed headers, and notes on those that were dropped."""
    kind = message.WhichOneof("request")
    if kind == "native":
        native = message.native
        protocol = PROTOCOLS.get(native.protocol)
        if protocol is None:
            raise InvalidRequest.at("native.protocol", "a protocol is required")
        call.protocol = protocol  # from here on an error can be said in it
        if not native.headers:
            return read_native(protocol, native.body), (), ()
        headers, dropped = inbound([(header.name, header.value) for header in native.headers])
        version = dict(headers).get("anthropic-version", "")
        return read_native(protocol, native.body, version=version), headers, _dropped_headers(dropped)
    if kind == "message":
        violations = validate_request(message.message)
        if violations:
            raise InvalidRequest([FieldViolation(path=f"message.{v.path}", message=v.message) for v in violations])
        return CallerRequest(message=message.message), (), ()
    raise InvalidRequest.at("request", "either message or native is required")


def model_name(asked: str, request: CallerRequest) -> str:
    """The name of the route table: the request's own, else the one in the body."""
    model = asked or (request.model or "")
    if not model:
        raise InvalidRequest.at("model", "a model is required, here or in the body")
    if len(model) > _MAX_MODEL_CHARACTERS:
        raise InvalidRequest.at("model", f"at most {_MAX_MODEL_CHARACTERS} characters are expected")
    return model


def _dropped_headers(names: Sequence[str]) -> tuple[TranslationNote, ...]:
    return tuple(
        TranslationNote(
            path=f"native.headers[{name}]",
            action=NOTE_ACTION_DROPPED,
            code="HEADER_NOT_ALLOWED",
            reason="only allow-listed headers are passed to providers",
        )
        for name in names
    )


def _max_attempts(options: ExecuteOptions, default: int) -> int:
    if not options.HasField("max_attempts"):
        return default
    if not 1 <= options.max_attempts <= MAX_ATTEMPTS_LIMIT:
        raise InvalidRequest.at("options.max_attempts", f"1 to {MAX_ATTEMPTS_LIMIT} is expected")
    return options.max_attempts


def _call_options(
    options: ExecuteOptions, headers: tuple[tuple[str, str], ...], call: Call, policy: PolicySettings
) -> CallOptions:
    _refuse_unsupported(options)
    call.tags = _tags(options)
    return CallOptions(
        ends_at=call.ends_at,
        attempt_seconds=_seconds(options, "attempt_timeout"),
        first_token_seconds=_seconds(options, "first_token_timeout"),
        idle_seconds=_seconds(options, "idle_timeout"),
        strict=is_strict(options.fidelity, policy),
        headers=headers,
    )


def is_strict(fidelity: wire.Fidelity.ValueType, policy: PolicySettings) -> bool:
    """Whether a loss is an error: as the request says, else as it is configured."""
    if fidelity == wire.FIDELITY_UNSPECIFIED:
        return policy.fidelity is Fidelity.STRICT
    return fidelity == wire.FIDELITY_STRICT


# Each enum of the options and what of it is honoured.
_ENUMS: tuple[tuple[str, Any, frozenset[int]], ...] = (
    ("fidelity", wire.Fidelity, frozenset(wire.Fidelity.values())),
    (
        "stream_recovery",
        wire.StreamRecovery,
        frozenset({wire.STREAM_RECOVERY_UNSPECIFIED, wire.STREAM_RECOVERY_FAIL}),
    ),
    ("priority", wire.Priority, frozenset({wire.PRIORITY_UNSPECIFIED, wire.PRIORITY_NORMAL})),
)


def _refuse_unsupported(options: ExecuteOptions) -> None:
    for field, kind, supported in _ENUMS:
        value = getattr(options, field)
        if value not in kind.values():
            raise InvalidRequest.at(f"options.{field}", "an unknown value")
        if value not in supported:
            raise Unsupported(f"options.{field}: {kind.Name(value)} is not supported")
    if options.HasField("hedging"):
        raise Unsupported("options.hedging: hedging is not supported")
    if options.affinity_key:
        raise Unsupported("options.affinity_key: affinity is not supported")


def _tags(options: ExecuteOptions) -> Mapping[str, str]:
    if len(options.tags) > _MAX_TAGS:
        raise InvalidRequest.at("options.tags", f"at most {_MAX_TAGS} are expected")
    for key, value in options.tags.items():
        if not 0 < len(key) <= _MAX_TAG_KEY_CHARACTERS or len(value) > _MAX_TAG_VALUE_CHARACTERS:
            words = f"keys of 1 to {_MAX_TAG_KEY_CHARACTERS} characters, values of at most {_MAX_TAG_VALUE_CHARACTERS}"
            raise InvalidRequest.at("options.tags", words)
    return dict(options.tags)


def _seconds(options: ExecuteOptions, field: str) -> float | None:
    if not options.HasField(field):  # type: ignore[arg-type]  # the three names are fields of the message
        return None
    duration: Duration = getattr(options, field)
    seconds = duration.seconds + duration.nanos / 1e9
    if not 0 < seconds <= _MAX_SECONDS:
        raise InvalidRequest.at(f"options.{field}", f"more than 0 s and at most {_MAX_SECONDS} s are expected")
    return seconds
