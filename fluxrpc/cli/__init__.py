"""The `fluxrpc` command. Each subcommand has a module of its own, imported only when it runs: help needs no grpc."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("serve", "Serve gRPC calls from a configuration."),
    "check": ("check", "Check a configuration: every fault with file, line and path."),
    "demo": ("demo", "See a request routed, failed over and streamed, with simulated providers."),
    "call": ("call", "Send one request to a running server."),
    "translate": ("translate", "Turn a body of one protocol into another, and say what that changes."),
}


class _Lazy(click.Group):
    """A group whose commands are imported by name when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        known = _COMMANDS.get(cmd_name)
        if known is None:
            return None
        command = importlib.import_module(f"fluxrpc.cli.{known[0]}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's signature
        """The short helps stand in the table above, so that `--help` imports nothing."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fluxrpc", prog_name="fluxrpc")
def main() -> None:
    """One gRPC service between your services and every LLM provider.

    Begin with `fluxrpc demo`; then write a configuration, `fluxrpc check` it and `fluxrpc serve` it.
    """
