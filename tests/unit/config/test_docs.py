"""The pages about configuration agree with what is read."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec.structs
import pytest

from fluxrpc.config import schema
from fluxrpc.config.loader import load, parse
from fluxrpc.config.schema import Settings
from fluxrpc.config.sections import yaml_key
from fluxrpc.protocols.gates import Gates, known_rows

DOCS = Path(__file__).parents[3] / "docs"
SECTIONS: dict[str, Any] = {
    "server": schema.ServerSettings,
    "server.tls": schema.TlsSettings,
    "server.keepalive": schema.KeepaliveSettings,
    "server.connection_age": schema.ConnectionAgeSettings,
    "metrics": schema.MetricsSettings,
    "log": schema.LogSettings,
    "media": schema.MediaSettings,
    "policy": schema.PolicySettings,
    "policy.route_breaker": schema.BreakerPolicy,
    "policy.endpoint_breaker": schema.BreakerPolicy,
    "policy.limits": schema.LimitSettings,
    "services": schema.ServiceSettings,
    "services.http": schema.HttpSettings,
    "models": schema.RouteSettings,
    "models.capabilities": schema.Capabilities,
}


def tables() -> dict[str, dict[str, list[str]]]:
    """Section, setting → the other cells of its row."""
    found: dict[str, dict[str, list[str]]] = {}
    for part in (DOCS / "configuration.md").read_text().split("\n### ")[1:]:
        rows = [[cell.strip() for cell in row.split(" | ")] for row in re.findall(r"^\| (`.*) \|$", part, re.MULTILINE)]
        found[part.partition("\n")[0]] = {cells[0].strip("`"): cells[1:] for cells in rows}
    return found


def test_every_section_is_described() -> None:
    assert tables().keys() == SECTIONS.keys() | {"callers", "models.gates"}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_is_described_and_no_other(section: str) -> None:
    # A service's name is its key in the file.
    expected = [yaml_key(f.name) for f in fields(SECTIONS[section]) if (section, f.name) != ("services", "name")]
    assert sorted(tables()[section]) == sorted(expected)


def test_every_gate_is_described_and_no_other() -> None:
    kinds = {bool: "flag", int: "number", str: "text", tuple[str, ...]: "words", frozenset[str]: "fields"}
    assert {gate.name: kinds[gate.type] for gate in msgspec.structs.fields(Gates)} == {
        name: cells[0] for name, cells in tables()["models.gates"].items()
    }


def test_whatever_the_built_in_data_says_can_be_configured() -> None:
    for row in known_rows():
        gates = json.dumps(row.gates)
        read(
            f'services: {{a: {{protocols: {{openai: "http://h"}}}}}}\n'
            f"models: {{x: {{routes: [{{service: a, model: m, gates: {gates}}}]}}}}\n"
        )


def test_the_levels_of_policies_are_the_described_ones() -> None:
    levels = {key: cells[1] for key, cells in tables()["policy"].items()}
    of_requests = {"fidelity", "max_attempts", "min_attempt", "endpoint_probe", "backoff_base", "backoff_max"}
    assert {key for key, level in levels.items() if level == "global"} == of_requests
    of_services = {"endpoint_breaker", "credential_shut", "read_timeout_blames"}
    assert {key for key, level in levels.items() if level == "service"} == of_services
    assert set(levels.values()) == {"global", "service", "route"}


def test_the_described_defaults_are_the_defaults() -> None:
    def block(section: str) -> str:
        written = [f"{key}: {cells[0].strip('`')}" for key, cells in tables()[section].items() if cells[0][0] == "`"]
        nested = [
            f"{inner.rpartition('.')[2]}: {block(inner)}"
            for inner in SECTIONS
            if inner.startswith(f"{section}.") and inner != "server.tls"
        ]
        plain = [line for line in written if not line.endswith(": {}")]
        return f"{{{', '.join(plain + nested)}}}"

    service = block("services").replace("{", '{protocols: {openai: "http://h"}, ', 1)
    route = block("models").replace("{", "{service: a, model: m, ", 1)
    described = [f"{section}: {block(section)}" for section in ("server", "metrics", "log", "media", "policy")]
    minimal = 'services: {a: {protocols: {openai: "http://h"}}}\nmodels: {x: {routes: [{service: a, model: m}]}}\n'
    full = "\n".join([*described, f"services: {{a: {service}}}", f"models: {{x: {{routes: [{route}]}}}}"])
    assert full.count(":") > 60
    assert read(full) == read(minimal)


def read(text: str) -> Settings:
    return parse(text.encode(), file="f.yaml", folder=Path("/nowhere"), environ={})


def test_the_example_loads_without_any_secret() -> None:
    settings = load(DOCS / "example.yaml", environ={})
    assert settings.server.listen.is_loopback
    assert settings.secrets() == frozenset()
    assert [route.priority for route in settings.models["fast"].routes] == [0, 10]


def test_what_the_example_comments_out_loads_too() -> None:
    commented = re.compile(r"^( *)# (?= *(\w+:$|protocols:|billing:|- \{))", re.MULTILINE)
    text = commented.sub(r"\1", (DOCS / "example.yaml").read_text())
    text = text.replace("{file: /run/secrets/openai}", '"${OPENAI}"')
    environ = {"DEEPSEEK_API_KEY": "a", "OPENAI": "b"}
    settings = parse(text.encode(), file="f.yaml", folder=DOCS, environ=environ)
    assert len(settings.models["fast"].routes) == 4
    assert len(settings.services) == 7
    assert settings.callers["billing"].models == frozenset({"fast"})
