"""`fluxrpc check`: faults with their places, and a table that can be read at 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fluxrpc.cli.check import command

SERVICES = """\
services:
  one: {protocols: {openai: "http://127.0.0.1:1/v1", anthropic: "http://127.0.0.1:1"}}
  two: {protocols: {openai: "http://127.0.0.1:2/v1"}}
"""
PLAIN = """\
models:
  fast:
    routes:
      - {service: two, model: small, priority: 10}
      - {service: one, model: large, priority: 0, credential: "${KEY}"}
"""
RICH = """\
server: {listen: "127.0.0.1:7777"}
callers: {billing: {token: "${KEY}"}}
metrics: {listen: "127.0.0.1:9999"}
models:
  fast:
    routes:
      - {service: two, model: some-vendor/model-with-a-very-long-name-2026-01-01, weight: 2.5, name: chosen}
      - {service: two, model: "[bold]small[/]"}
  slow:
    routes: [{service: one, model: large}]
"""


def check(tmp_path: Path, content: str) -> Result:
    path = tmp_path / "config.yaml"
    path.write_text(content)
    return CliRunner().invoke(command, [str(path)], env={"KEY": "secret-value", "COLUMNS": "80"})


def rows(result: Result) -> list[list[str]]:
    return [line.split() for line in result.stdout.splitlines()]


def test_routes_stand_under_their_model_in_the_order_of_preference(tmp_path: Path) -> None:
    done = check(tmp_path, SERVICES + PLAIN)
    assert done.exit_code == 0
    assert rows(done) == [
        ["fast"],
        ["prio", "service", "its", "model", "protocols", "key", "from"],
        ["0", "one", "large", "openai,", "anthropic", "${KEY}"],
        ["10", "two", "small", "openai", "none"],
        [],
        ["listens", "on", "127.0.0.1:50051", "(plaintext)"],
        ["callers", "anyone"],
        ["metrics", "off"],
    ]


def test_the_gates_of_each_model_are_named(tmp_path: Path) -> None:
    services = SERVICES.replace('127.0.0.1:1"}', '127.0.0.1:1"}, anthropic_version: "2026-10-21"')
    done = check(tmp_path, services + PLAIN.replace("priority: 10", "priority: 10, gates: {refused: seed}"))
    gates = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("gate ")]
    assert gates == [
        "gate large: Claude with anthropic-version 2026-10-21: no sampling parameters",
        "gate small: set here: refused",
    ]


def test_weights_and_names_are_shown_where_somebody_set_them(tmp_path: Path) -> None:
    done = check(tmp_path, SERVICES + RICH)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    shown = rows(done)
    assert shown[1] == ["prio", "weight", "service", "its", "model", "protocols", "key", "from", "name"]
    assert shown[2][:3] == ["0", "2.5", "two"]
    assert shown[2][-1] == "chosen"
    assert any("[bold]small[/]" in row for row in shown)
    assert ["prio", "service", "its", "model", "protocols", "key", "from"] in shown
    assert shown[-3:] == [
        ["listens", "on", "127.0.0.1:7777", "(plaintext)"],
        ["callers", "billing"],
        ["metrics", "127.0.0.1:9999"],
    ]
    assert "secret-value" not in done.output


@pytest.mark.parametrize(
    ("content", "count"),
    [("colour: red\n" + SERVICES + PLAIN, "1 fault"), ("colour: red\nsize: 3\n" + SERVICES + PLAIN, "2 faults")],
)
def test_every_fault_has_its_place(tmp_path: Path, content: str, count: str) -> None:
    done = check(tmp_path, content)
    assert done.exit_code == 1
    assert done.stdout == ""
    *faults, last = done.stderr.splitlines()
    assert last == count
    for number, (fault, path) in enumerate(zip(faults, ("colour", "size"), strict=False), 1):
        assert fault.startswith(f"{tmp_path / 'config.yaml'}:{number}: {path}: ")


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(tmp_path / "none.yaml")])
    assert done.exit_code == 1
    assert "cannot be read" in done.stderr


def test_files_that_are_no_certificates_are_faults_too(tmp_path: Path) -> None:
    for name in ("odd.pem", "one.pem", "two.pem"):
        (tmp_path / name).write_text("no certificate")
    trusting = SERVICES.replace("}}\n", "}, http: {ca: one.pem}}\n", 1).replace(
        '2/v1"}}', '2/v1"}, http: {ca: two.pem}}'
    )
    done = check(tmp_path, trusting + PLAIN + "server: {tls: {cert: odd.pem, key: odd.pem}}\n")
    assert done.exit_code == 1
    assert done.stdout == ""
    *faults, count = done.stderr.splitlines()
    assert count == "3 faults"
    assert faults[:2] == [
        f"{tmp_path}/{name}.pem:1: services.{name}.http.ca: expected certificates in PEM" for name in ("one", "two")
    ]
    assert faults[2].startswith(f"{tmp_path}/config.yaml:1: server.tls: cannot be used: {tmp_path}/odd.pem")
