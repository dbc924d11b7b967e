"""A provider for each test, and no blocking call on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

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


@pytest.fixture
async def unraised() -> Callable[[], list[Any]]:
    """What the loop was told of and could not raise anywhere."""
    contexts: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: contexts.append(context))
    return lambda: contexts
