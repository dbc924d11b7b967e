from __future__ import annotations

import asyncio

import pytest

from fluxrpc.routing.time_limit import TimeLimits


async def test_time_that_is_up_is_a_timeout() -> None:
    limits = TimeLimits(tick_seconds=0.001)
    limit = limits.within(0.005)
    began = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError), limit:
        await asyncio.Event().wait()
    assert asyncio.get_running_loop().time() - began >= 0.005
    assert limit.has_expired
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_in_time_nothing_happens_and_nothing_ticks_on() -> None:
    limits = TimeLimits(tick_seconds=0.001)
    with limits.within(60) as limit:
        await asyncio.sleep(0)
    await asyncio.sleep(0.005)
    assert not limit.has_expired
    assert not limits.is_ticking


async def test_no_time_at_all() -> None:
    with pytest.raises(TimeoutError), TimeLimits(tick_seconds=0.001).within(0):
        await asyncio.Event().wait()


async def test_the_outer_limit_passes_the_inner() -> None:
    limits = TimeLimits(tick_seconds=0.001)
    inner = limits.within(60)
    with pytest.raises(TimeoutError), limits.within(0.002) as outer, inner:
        await asyncio.Event().wait()
    assert (outer.has_expired, inner.has_expired) == (True, False)


async def test_both_at_once_are_the_outer() -> None:
    limits = TimeLimits(tick_seconds=0.01)
    with pytest.raises(TimeoutError), limits.within(0.001) as outer, limits.within(0.001) as inner:
        await asyncio.Event().wait()
    assert outer.has_expired
    assert inner.has_expired
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_cancellation_from_elsewhere_passes() -> None:
    limits = TimeLimits(tick_seconds=0.001)
    entered = asyncio.Event()

    async def work() -> None:
        with limits.within(60):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.003)
    assert not limits.is_ticking


async def test_an_error_in_time_passes() -> None:
    with pytest.raises(KeyError), TimeLimits().within(60):
        raise KeyError


async def test_many_limits_share_one_tick() -> None:
    limits = TimeLimits(tick_seconds=0.001)

    async def late(seconds: float) -> bool:
        try:
            with limits.within(seconds):
                await asyncio.sleep(0.02)
        except TimeoutError:
            return True
        return False

    assert await asyncio.gather(*(late(0.002 if n % 2 else 60) for n in range(20))) == [False, True] * 10
