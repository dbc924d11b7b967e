"""A played router, served by a real gRPC server on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import pytest
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckResponse

from fluxrpc_client.v1.router_pb2_grpc import add_RouterServiceServicer_to_server
from tests.integration.client.fake_router import MIB, FakeRouter, Served


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    limits = [("grpc.max_receive_message_length", 32 * MIB), ("grpc.max_send_message_length", 32 * MIB)]
    server = grpc.aio.server(options=limits)
    running = Served(FakeRouter(), server)
    add_RouterServiceServicer_to_server(running.router, server)
    health_pb2_grpc.add_HealthServicer_to_server(running.health, server)
    await running.set_health(HealthCheckResponse.SERVING)
    running.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield running
    await server.stop(0)
