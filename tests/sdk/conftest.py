"""A simulator for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fluxrpc.simulator import Simulator


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator() as simulator:
        yield simulator
