"""The limits stage: how many calls may run at once.

gRPC's own `maximum_concurrent_rpcs` refuses without details; this one says why and when to come back.
"""

from __future__ import annotations

from typing import Any

from fluxrpc.errors import GrpcCode, RequestError
from fluxrpc.server.interceptors.pipeline import Behaviour

_SERVICE = "/fluxrpc."
_RETRY_AFTER_SECONDS = 1.0


class Overloaded(RequestError):
    """More calls run than the configuration allows."""

    code = GrpcCode.RESOURCE_EXHAUSTED
    reason = "OVERLOADED"

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} calls are running, which is the limit")
        self.retry_after_seconds = _RETRY_AFTER_SECONDS


class Limiter:
    """Counts the running calls of our own services; health and reflection are never refused."""

    def __init__(self, max_calls: int) -> None:
        self.max_calls = max_calls
        self.running = 0

    def stage(self, method: str, inner: Behaviour) -> Behaviour:
        """Refuse at once what is over the limit; the place is given back on every way out."""
        if not method.startswith(_SERVICE):
            return inner

        async def counted(request: Any, context: Any) -> Any:
            if self.running >= self.max_calls:
                raise Overloaded(self.max_calls)
            self.running += 1
            try:
                return await inner(request, context)
            finally:
                self.running -= 1

        return counted
