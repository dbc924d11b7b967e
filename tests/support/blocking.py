"""Calls of our code that would block the event loop raise."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from blockbuster import blockbuster_ctx

# Held for as long as the tests run: grpc.aio stops its poller, and waits for it, when the last of its objects is
# collected, and that may be in the middle of any line of ours.
grpc.aio.init_grpc_aio()


@pytest.fixture(autouse=True)
def no_blocking(request: pytest.FixtureRequest) -> Iterator[None]:
    """Guards every test that does not say `may_block` and why."""
    if request.node.get_closest_marker("may_block"):
        yield
        return
    # Only what our own code does counts: the tests themselves may read files.
    with blockbuster_ctx("fluxrpc"):
        yield
