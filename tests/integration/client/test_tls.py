"""Both Python clients over TLS: with the token, and only to a server whose certificate they trust."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
import trustme

from fluxrpc_client import Client, SyncClient, Unavailable, text_of
from fluxrpc_client.v1.router_pb2_grpc import add_RouterServiceServicer_to_server
from tests.integration.client.fake_router import FakeRouter, Served


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def served(authority: trustme.CA) -> AsyncIterator[Served]:
    certificate = authority.issue_cert("localhost")
    pair = (certificate.private_key_pem.bytes(), certificate.cert_chain_pems[0].bytes())
    server = grpc.aio.server()
    running = Served(FakeRouter(), server)
    add_RouterServiceServicer_to_server(running.router, server)
    port = server.add_secure_port("localhost:0", grpc.ssl_server_credentials([pair]))
    running.target = f"localhost:{port}"
    await server.start()
    yield running
    await server.stop(0)


async def test_a_trusted_server_gets_the_token(served: Served, authority: trustme.CA) -> None:
    trusted = grpc.ssl_channel_credentials(authority.cert_pem.bytes())

    def ask() -> str:
        with SyncClient(served.target, token="from a thread", tls=trusted) as client:
            return text_of(client.execute("text", "Hi", timeout_seconds=20))

    async with Client(served.target, token="secret", tls=trusted) as client:
        assert text_of(await client.execute("text", "Hi", timeout_seconds=20)) == "Hello"
    assert served.router.metadata["authorization"] == "Bearer secret"
    assert await asyncio.to_thread(ask) == "Hello"
    assert served.router.metadata["authorization"] == "Bearer from a thread"


async def test_a_stranger_gets_nothing(served: Served) -> None:
    other = grpc.ssl_channel_credentials(trustme.CA().cert_pem.bytes())
    async with Client(served.target, token="secret", tls=other) as client:
        with pytest.raises(Unavailable):
            await client.execute("text", "Hi", timeout_seconds=20)
    assert served.router.requests == []
