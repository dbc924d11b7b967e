"""Calls of our code that would block the event loop raise, in tests that ask for `no_blocking`."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from blockbuster import blockbuster_ctx

# Held for as long as the tests run: grpc.aio stops its poller, and waits for it, when the last of its objects is
# collected, and that may be in the middle of any line of ours.
grpc.aio.init_grpc_aio()


@pytest.fixture(autouse=True)
def no_blocking() -> Iterator[None]:
    """Import it into a `conftest.py` to guard every test below that folder."""
    # Only what our own code does counts: the tests themselves may read files.
    with blockbuster_ctx("fluxrpc"):
        yield
