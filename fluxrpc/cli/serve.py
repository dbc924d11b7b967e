"""`fluxrpc serve`: the server process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import click

from fluxrpc.cli.environment import prepare_grpc
from fluxrpc.cli.faults import exit_with_faults
from fluxrpc.config.loader import load
from fluxrpc.config.watcher import Reloader
from fluxrpc.errors import ConfigError
from fluxrpc.telemetry.logs import Redaction, configure_logs


@click.command(name="serve")
@click.option(
    "--config",
    "path",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The configuration (YAML). SIGHUP reads it again.",
)
def command(path: Path) -> None:
    """Serve gRPC calls from a configuration.

    SIGTERM or Ctrl-C drains: health turns to NOT_SERVING, running calls finish within the grace, then exit 0; a second
    one ends at once. SIGHUP reloads; a file that cannot be used leaves the last good configuration in force.

    Logs go to standard error. Exit status 1: the configuration or an address cannot be used, and nothing listens.

    \b
    Examples:
      fluxrpc check fluxrpc.yaml && fluxrpc serve --config fluxrpc.yaml
      kill -HUP PID
    """  # noqa: D301  # \b is click's mark for text that is not to be wrapped
    try:
        reloader = Reloader(partial(load, path))
    except ConfigError as error:
        exit_with_faults(error)
    prepare_grpc()
    settings = reloader.state.settings
    redaction = Redaction(secret.reveal() for secret in settings.secrets())
    access_log = configure_logs(
        level=settings.log.level.value, json=settings.log.format.value == "json", redaction=redaction
    )
    from fluxrpc.server.lifecycle import Server, StartError  # noqa: PLC0415  # after the environment

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
