"""`fluxrpc check`: reads a configuration as `serve` would, and shows what it comes to."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from fluxrpc.config.loader import load
from fluxrpc.config.summary import Summary, summarise
from fluxrpc.errors import ConfigError


@click.command(name="check")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
def command(path: Path) -> None:
    """Check the configuration FILE, secrets included.

    Every fault is listed with file:line, the path of the setting and what was expected; exit status 1. A sound file
    gives the table of its routes; exit status 0. Nothing listens and no provider is called.
    """
    try:
        settings = load(path)
    except ConfigError as error:
        for fault in error.faults:
            click.echo(str(fault), err=True)
        count = len(error.faults)
        click.echo(f"{count} fault{'s' if count != 1 else ''}", err=True)
        sys.exit(1)
    show(summarise(settings), Console())


def show(summary: Summary, console: Console) -> None:
    """The summary as a person reads it."""
    table = Table(title=None, header_style="bold")
    for name in ("model", "priority", "route", "service", "upstream model", "speaks", "weight", "credential"):
        table.add_column(name, overflow="fold")
    for row in summary.routes:
        table.add_row(
            row.model,
            str(row.priority),
            row.route,
            row.service,
            row.upstream_model,
            ", ".join(row.protocols),
            f"{row.weight:g}",
            row.credential,
        )
    console.print(table)
    callers = ", ".join(summary.callers) or "anyone"
    tls = "TLS" if summary.tls else "plaintext"
    console.print(f"listens on {summary.listen} ({tls}); callers: {callers}; metrics: {summary.metrics}")
