"""`fluxrpc check`: reads a configuration as `serve` would, and shows what it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fluxrpc.cli.environment import prepare_grpc
from fluxrpc.cli.faults import exit_with_faults
from fluxrpc.config.loader import load
from fluxrpc.config.schema import Settings
from fluxrpc.config.summary import RouteRow, Summary, summarise
from fluxrpc.errors import ConfigError, ConfigFault


@click.command(name="check")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
def command(path: Path) -> None:
    """Check the configuration FILE, secrets included.

    Every fault is listed with file:line, the path of the setting and what was expected; exit status 1. A sound file
    gives its models, each with its routes in the order in which they are tried, and the gates of the routes: what
    their models are known to refuse or demand; exit status 0. Nothing listens and no provider is called.
    """
    try:
        settings = load(path)
        _check_files(settings, str(path))
    except ConfigError as error:
        exit_with_faults(error)
    show(summarise(settings), Console(highlight=False))


def _check_files(settings: Settings, path: str) -> None:
    """Raise `ConfigError` for certificates and keys that are there and cannot be used."""
    faults = [*_unusable_files(settings, path)]
    if faults:
        raise ConfigError(faults)


def _unusable_files(settings: Settings, path: str) -> Iterator[ConfigFault]:
    """What the server, which reads these files, says of them."""
    tls, services = settings.server.tls, [s for s in settings.services.values() if s.http.ca is not None]
    if tls is None and not services:
        return
    prepare_grpc()
    from fluxrpc.server.catalog import services_of  # noqa: PLC0415  # after the environment
    from fluxrpc.server.tls import CertificateError, server_credentials  # noqa: PLC0415  # likewise

    for service in services:
        try:
            services_of(replace(settings, services={service.name: service}))
        except ConfigError as error:
            yield from error.faults
    try:
        if tls is not None:
            server_credentials(tls)
    except CertificateError as error:
        yield ConfigFault(file=path, line=1, path="server.tls", message=f"cannot be used: {error}")


def show(summary: Summary, console: Console) -> None:
    """The summary as a person reads it."""
    for model, rows in groupby(summary.routes, key=lambda row: row.model):
        console.print(Text(model, style="bold"))
        routes = list(rows)
        console.print(Padding(_routes(routes), (0, 0, 0, 2), expand=False))
        for line in _gates(routes):
            console.print(Padding(line, (0, 0, 0, 2), expand=False))
        console.print()
    callers = ", ".join(summary.callers) or "anyone"
    for label, value in (
        ("listens on", f"{summary.listen} ({'TLS' if summary.tls else 'plaintext'})"),
        ("callers", callers),
        ("metrics", summary.metrics),
    ):
        console.print(Text.assemble((f"{label:<12}", "bold"), value))


def _routes(rows: Sequence[RouteRow]) -> Table:
    """The routes of one model. Weights matter only among equal priorities, names only where somebody chose them."""
    weighted = any(row.weight != 1 for row in rows)
    names = [_chosen_name(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("prio", justify="right", no_wrap=True)
    if weighted:
        table.add_column("weight", justify="right", no_wrap=True)
    for name in ("service", "its model", "protocols", "key from"):
        table.add_column(name, overflow="fold")
    if any(names):
        table.add_column("name", overflow="fold")
    for row, name in zip(rows, names, strict=True):
        table.add_row(
            str(row.priority),
            *([f"{row.weight:g}"] if weighted else []),
            *map(Text, (row.service, row.upstream_model, ", ".join(row.protocols), row.credential)),
            *([Text(name)] if any(names) else []),
        )
    return table


def _gates(rows: Sequence[RouteRow]) -> Iterator[Table]:
    """What the built-in data says of the models, each once: requests that are translated keep to it."""
    said = {(row.upstream_model, gate): None for row in rows for gate in row.gates}
    for model, gate in said:
        line = Table.grid(padding=(0, 1, 0, 0))
        line.add_column(no_wrap=True)
        line.add_column(overflow="fold")
        line.add_row(Text("gate", style="dim"), Text(f"{model}: {gate}"))
        yield line


def _chosen_name(row: RouteRow) -> str:
    """The name of a route, where it is not the one that its parts make."""
    derived = f"{row.model}/{row.service}/{row.upstream_model}"
    return "" if row.route == derived or row.route.startswith(derived + "#") else row.route
