"""`python -m fluxrpc.simulator`: the simulator in the foreground, for use by hand."""

from __future__ import annotations

import asyncio
import signal

import click

from fluxrpc.simulator.dialects import DIALECTS
from fluxrpc.simulator.server import Simulator


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=0, show_default=True, help="Port to listen on; 0 takes a free one.")
def main(host: str, port: int) -> None:
    """Play LLM providers in five protocols until interrupted."""
    asyncio.run(run(host, port))


async def run(host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Simulator(host=host, port=port) as sim:
        for protocol in DIALECTS:
            click.echo(f"{protocol:<10} {sim.base_url(protocol)}")
        await stop.wait()


if __name__ == "__main__":
    main()
