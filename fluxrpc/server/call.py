"""What the server knows of the call that it is serving: filled on the way in, read by the log on the way out.

One `Call` lives as long as one RPC, in a context variable of the RPC's own task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from random import getrandbits

from msgspec import Struct

from fluxrpc.errors import GrpcCode
from fluxrpc.protocols.base import Protocol
from fluxrpc.v1.outcome_pb2 import Attempt
from fluxrpc.v1.usage_pb2 import Usage

_PLAIN_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class Call(Struct, kw_only=True):
    """One RPC: who asks, until when, and what came of it."""

    method: str
    request_id: str
    started: float
    """Monotonic seconds."""
    caller: str = ""
    """Name of the caller in the configuration; empty where callers are anonymous."""
    ends_at: float = float("inf")
    """The caller's deadline, in monotonic seconds."""
    asks_model: bool = False
    """Whether it is a request to a model, which is counted as such."""
    protocol: Protocol | None = None
    """What the caller speaks; None for typed requests, and while that is not known."""
    model: str = ""
    route: str = ""
    code: GrpcCode = GrpcCode.OK
    reason: str = ""
    attempts: Sequence[Attempt] = ()
    usage: Usage | None = None
    tags: Mapping[str, str] | None = None

    def cut_off(self, now: float) -> None:
        """It was cancelled: by its deadline, or by the caller."""
        self.code = GrpcCode.DEADLINE_EXCEEDED if now >= self.ends_at else GrpcCode.CANCELLED
        self.reason = self.code.name


current_call: ContextVar[Call] = ContextVar("current_call")


def request_id_from(given: str | bytes | None) -> str:
    """The caller's `x-request-id` where it is short and plain, else a new one."""
    if isinstance(given, str) and _PLAIN_ID.fullmatch(given):
        return given
    return f"{getrandbits(128):032x}"  # unique is enough; the system's own randomness costs a call into it
