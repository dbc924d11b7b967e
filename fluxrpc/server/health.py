"""The standard health service: whether this process can serve, not whether the providers are up.

If a provider's outage made every process NOT_SERVING, one provider would drain the fleet.
See https://github.com/grpc/grpc/blob/master/doc/health-checking.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import aio
from grpc_health.v1.health_pb2 import HealthCheckResponse

_SERVING = HealthCheckResponse.SERVING
_NOT_SERVING = HealthCheckResponse.NOT_SERVING


class Health:
    """Health of the server as a whole (the empty name) and of each of its services by full name."""

    def __init__(self, services: Sequence[str]) -> None:
        self._names = ("", *services)
        self._servicer = aio.HealthServicer()

    async def attach(self, server: grpc.aio.Server) -> None:
        """Add the service to a server, NOT_SERVING until told otherwise (grpc's own default is SERVING)."""
        await self._set_all(_NOT_SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    async def serve(self) -> None:
        """Configuration and credentials are loaded: calls are welcome."""
        await self._set_all(_SERVING)

    async def drain(self) -> None:
        """NOT_SERVING for good: load balancers look elsewhere while running calls finish."""
        await self._servicer.enter_graceful_shutdown()

    async def _set_all(self, status: HealthCheckResponse.ServingStatus.ValueType) -> None:
        for name in self._names:
            await self._servicer.set(name, status)
