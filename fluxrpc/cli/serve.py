"""`fluxrpc serve`: the server process."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import click

from fluxrpc.config.loader import load
from fluxrpc.config.watcher import Reloader
from fluxrpc.errors import ConfigError
from fluxrpc.telemetry.logs import Redaction, configure_logs

# Read by grpc when it is imported. Its C core would write lines of its own to standard error, and prepare for forks
# that never come.
_GRPC_ENVIRONMENT = {"GRPC_VERBOSITY": "ERROR", "GRPC_ENABLE_FORK_SUPPORT": "0"}


@click.command(name="serve")
@click.option(
    "--config",
    "path",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The configuration (YAML). SIGHUP reads it again.",
)
def command(path: Path) -> None:
    """Serve gRPC calls from a configuration.

    SIGTERM or Ctrl-C drains: health turns to NOT_SERVING, running calls finish within the grace, then exit 0; a second
    one ends at once. SIGHUP reloads; a file that cannot be used leaves the last good configuration in force.
    """
    try:
        reloader = Reloader(partial(load, path))
    except ConfigError as error:
        for fault in error.faults:
            click.echo(str(fault), err=True)
        sys.exit(1)
    for name, value in _GRPC_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    settings = reloader.state.settings
    redaction = Redaction(secret.reveal() for secret in settings.secrets())
    access_log = configure_logs(
        level=settings.log.level.value, json=settings.log.format.value == "json", redaction=redaction
    )
    from fluxrpc.server.lifecycle import Server, StartError  # noqa: PLC0415  # grpc reads the environment when imported

    try:
        run_loop(Server(reloader, access_log, redaction).run())
    except StartError as error:
        click.echo(f"fluxrpc: {error.safe_message}", err=True)
        sys.exit(1)


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop where it is installed, else on asyncio's own loop."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)
