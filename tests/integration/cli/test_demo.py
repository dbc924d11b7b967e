"""`fluxrpc demo`: that it shows what it says, and notices when it does not."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from fluxrpc.cli import demo_scenes
from fluxrpc.cli.demo_scenes import DemoError, play
from tests.support.command import run


async def test_the_demo_shows_failover_stream_breaker_and_a_cut_stream() -> None:
    done = await run("demo", NO_COLOR="1")
    assert (done.status, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 55
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout
    # Each scene makes one attempt fewer than the one before; what cannot be read off the lines, the demo looks at.
    attempts = [line.split()[:2] for line in lines if re.match(r"  chat/", line)]
    broken, healthy = ["chat/broken/large", "model"], ["chat/healthy/small", "ok"]
    assert attempts == [broken, broken, healthy, broken, healthy, healthy]
    assert "UNAVAILABLE STREAM_INTERRUPTED" in done.stdout


async def test_the_demo_fails_where_it_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_scenes, "ANSWER", "Something else.")
    with pytest.raises(DemoError, match="the answer is"):
        await play(Console(file=io.StringIO()))


async def test_the_demo_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_scenes, "_ALL_SECONDS", 0.0)
    with pytest.raises(DemoError, match="longer than 0 s"):
        await play(Console(file=io.StringIO()))
