"""A provider for each test, and no blocking call on the loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fluxrpc.simulator import Simulator
from tests.support.blocking import no_blocking

__all__ = ["no_blocking"]

KEY = "sk-secret-of-the-provider"
ENV = {"KEY": KEY}


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator() as simulator:
        yield simulator
