"""The limits stage: how many calls may run at once.

gRPC's own `maximum_concurrent_rpcs` refuses without details; this one says why and when to come back.
"""

from __future__ import annotations

from typing import Any

from fluxrpc.errors import GrpcCode, RequestError
from fluxrpc.server.call import Call
from fluxrpc.server.interceptors.stage import Metadata, Stage

_RETRY_AFTER_SECONDS = 1.0


class Overloaded(RequestError):
    """More calls run than the configuration allows."""

    code = GrpcCode.RESOURCE_EXHAUSTED
    reason = "OVERLOADED"

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} calls are running, which is the limit")
        self.retry_after_seconds = _RETRY_AFTER_SECONDS


class Limiter(Stage):
    """Counts the running calls of our own services; health and reflection are never refused."""

    def __init__(self, max_calls: int) -> None:
        self.max_calls = max_calls
        self.running = 0

    def enter(self, call: Call, context: Any, metadata: Metadata) -> None:  # noqa: ARG002  # the stage's shape
        """Take a place, or refuse at once."""
        if self.running >= self.max_calls:
            raise Overloaded(self.max_calls)
        self.running += 1

    def leave(self, call: Call) -> None:  # noqa: ARG002  # the stage's shape
        """Give the place back."""
        self.running -= 1
