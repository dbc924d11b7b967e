"""`fluxrpc demo`: how it ends. The play itself is replaced."""

from __future__ import annotations

import asyncio

import pytest
from click.testing import CliRunner
from rich.console import Console

from fluxrpc.cli import demo_scenes
from fluxrpc.cli.demo import command
from fluxrpc.cli.demo_scenes import DemoError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DemoError("no failover"), "fluxrpc demo: this did not go as it should: no failover\n"),
        (asyncio.CancelledError(), "Aborted!\n"),
    ],
)
def test_a_demo_that_fails_or_is_stopped_says_so(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, said: str
) -> None:
    async def play(console: Console) -> None:
        raise error

    monkeypatch.setattr(demo_scenes, "play", play)
    done = CliRunner().invoke(command)
    assert (done.exit_code, done.stderr) == (1, said)
