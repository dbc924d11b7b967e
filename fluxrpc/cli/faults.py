"""The faults of a configuration on standard error, for every command that reads one."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from fluxrpc.errors import ConfigError


def exit_with_faults(error: ConfigError) -> NoReturn:
    """One line for each fault, then how many there are; exit status 1."""
    for fault in error.faults:
        click.echo(str(fault), err=True)
    count = len(error.faults)
    click.echo(f"{count} fault{'s' if count != 1 else ''}", err=True)
    sys.exit(1)
