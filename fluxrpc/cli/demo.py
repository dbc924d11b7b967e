"""`fluxrpc demo`: the command alone. What it shows is in `demo_scenes`, what it needs for that in `demo_stage`."""

from __future__ import annotations

import asyncio
import sys

import click
from rich.console import Console

from fluxrpc.cli.environment import prepare_grpc
from fluxrpc.cli.serve import run_loop


@click.command(name="demo")
def command() -> None:
    """See a request routed, failed over and streamed, in a few seconds and without any key.

    Two simulated providers, one of them broken; the real server in front of them, on a free local port; real calls
    through the generated client. It looks at what it shows: exit status 1 where something does not go as it says.
    """
    prepare_grpc()
    from fluxrpc.cli.demo_scenes import DemoError, play  # noqa: PLC0415  # after the environment

    try:
        run_loop(play(Console(highlight=False)))
    except DemoError as error:
        click.echo(f"fluxrpc demo: this did not go as it should: {error}", err=True)
        sys.exit(1)
    except asyncio.CancelledError:  # Ctrl-C stops the server, and with it the play
        raise click.Abort from None
