"""The command as a whole: its help, and what each command imports."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from fluxrpc.cli import main

COMMANDS = ("serve", "check", "demo", "call", "translate")


def test_the_help_lists_every_command() -> None:
    done = CliRunner().invoke(main, ["--help"])
    assert done.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(name: str) -> None:
    done = CliRunner().invoke(main, [name, "--help"])
    assert done.exit_code == 0
    assert max(map(len, done.output.splitlines())) <= 80
    # Indented by whoever wrote the docstring, and to be read as it stands.
    assert "\b" not in done.output


def test_an_unknown_command_is_wrong_usage() -> None:
    done = CliRunner().invoke(main, ["dance"])
    assert done.exit_code == 2
    assert "No such command" in done.output


def test_no_command_needs_grpc_to_be_listed_or_explained() -> None:
    # gRPC reads the environment when it is imported, and takes most of a second.
    modules = ", ".join(f"fluxrpc.cli.{name}" for name in COMMANDS)
    probe = f"import sys, {modules}; print('grpc' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
