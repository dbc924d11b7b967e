"""Who may import what, where import-linter's layers do not reach: foreign modules, and strangers among siblings.

The layers themselves are in pyproject.toml. Only import statements count, wherever in a file they stand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluxrpc.protocols.base import Protocol

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fluxrpc"

# Code that decides: time, randomness, sleep and the network reach it as parameters.
PURE = ("fluxrpc.sse", "fluxrpc.protocols", "fluxrpc.resilience")
IMPURE = ("asyncio", "threading", "socket", "ssl", "httpx", "aiohttp", "grpc", "time", "random", "logging", "structlog")

# Foreign module -> the only rooms that know it. The command is a caller too, so it may open a channel.
OWNERS = {
    "grpc": ("fluxrpc.server", "fluxrpc.cli"),
    "grpc_health": ("fluxrpc.server", "fluxrpc.cli"),
    "grpc_reflection": ("fluxrpc.server",),
    "grpc_status": ("fluxrpc.server", "fluxrpc.cli"),
    "aiohttp": ("fluxrpc.upstream", "fluxrpc.simulator", "fluxrpc.server"),
    "httpx": ("fluxrpc.upstream",),
    "requests": (),
    "urllib.request": ("fluxrpc.upstream",),
    "http.client": (),
    "yaml": ("fluxrpc.config.loader",),
    "prometheus_client": ("fluxrpc.telemetry", "fluxrpc.server"),
    "uvloop": ("fluxrpc.server", "fluxrpc.cli"),
}


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, module: str, *, is_package: bool = False) -> set[str]:
    """Give the dotted names that a module imports; of `from a import b` both `a` and `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: len(module.split(".")) - node.level + is_package]
                base = ".".join([*above, base] if base else above)
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found


def modules() -> Iterator[tuple[str, set[str]]]:
    """Yield each written module of the package with what it imports; generated stubs are left out."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "_pb2" not in path.stem:
            name = module_name(path)
            yield name, imports_of(path.read_text("utf-8"), name, is_package=path.stem == "__init__")


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    return dict(modules())


def test_pure_rooms_are_pure(imports: dict[str, set[str]]) -> None:
    assert [
        f"{module} imports {impure}"
        for module, names in imports.items()
        if any(within(module, room) for room in PURE)
        for impure in IMPURE
        if any(within(name, impure) for name in names)
    ] == []


@pytest.mark.parametrize(("foreign", "rooms"), OWNERS.items())
def test_each_foreign_module_has_its_rooms(imports: dict[str, set[str]], foreign: str, rooms: tuple[str, ...]) -> None:
    assert [
        f"{module} imports {foreign}"
        for module, names in imports.items()
        if any(within(name, foreign) for name in names) and not any(within(module, room) for room in rooms)
    ] == []


def test_only_upstream_is_an_http_client(imports: dict[str, set[str]]) -> None:
    # Others may serve HTTP with aiohttp.web; the whole of aiohttp, or anything else of it, is the client.
    assert [
        f"{module} imports {name}"
        for module, names in imports.items()
        if not within(module, "fluxrpc.upstream")
        for name in names
        if (name.startswith("aiohttp.") and not name.startswith("aiohttp.web"))
        or (name == "aiohttp" and not any(other.startswith("aiohttp.web") for other in names))
    ] == []


def test_the_simulator_knows_only_the_clock(imports: dict[str, set[str]]) -> None:
    assert [
        f"{module} imports {name}"
        for module, names in imports.items()
        if within(module, "fluxrpc.simulator")
        for name in names
        if within(name, "fluxrpc")
        and name != "fluxrpc"
        and not within(name, "fluxrpc.simulator")
        and not within(name, "fluxrpc.clock")
    ] == []


def test_only_the_command_knows_the_simulator(imports: dict[str, set[str]]) -> None:
    allowed = ("fluxrpc.simulator", "fluxrpc.cli", "fluxrpc.__main__")
    assert [
        module
        for module, names in imports.items()
        if any(within(name, "fluxrpc.simulator") for name in names)
        and not any(within(module, room) for room in allowed)
    ] == []


def test_protocols_are_strangers_to_each_other(imports: dict[str, set[str]]) -> None:
    folders = {f"fluxrpc.protocols.{protocol}" for protocol in Protocol}
    assert [
        f"{module} imports {other}"
        for module, names in imports.items()
        for own in folders
        if within(module, own)
        for other in folders - {own}
        if any(within(name, other) for name in names)
    ] == []


def test_nobody_inside_imports_the_public_names(imports: dict[str, set[str]]) -> None:
    # `from fluxrpc import Router` inside the package would tie every room to every other.
    assert [
        f"{module} imports {name}"
        for module, names in imports.items()
        for name in names
        if name.startswith("fluxrpc.") and name.removeprefix("fluxrpc.")[0].isupper()
    ] == []


def test_the_client_is_a_stranger_to_the_server() -> None:
    # Its wheel is installed where fluxrpc is not.
    paths = sorted((ROOT / "clients/python/fluxrpc_client").rglob("*.py"))
    assert paths
    assert [
        f"{path.name} imports {name}"
        for path in paths
        for name in imports_of(path.read_text("utf-8"), "fluxrpc_client.module")
        if within(name, "fluxrpc")
    ] == []


@pytest.mark.parametrize(
    ("source", "module", "expected"),
    [
        ("import os.path as p", "fluxrpc.a", {"os.path"}),
        ("from fluxrpc import sse", "fluxrpc.a", {"fluxrpc", "fluxrpc.sse"}),
        ("def f():\n from time import sleep", "fluxrpc.a", {"time", "time.sleep"}),
        ("from . import b", "fluxrpc.x.a", {"fluxrpc.x", "fluxrpc.x.b"}),
        ("from ..y.z import c", "fluxrpc.x.a", {"fluxrpc.y.z", "fluxrpc.y.z.c"}),
    ],
)
def test_imports_are_read_rightly(source: str, module: str, expected: set[str]) -> None:
    assert imports_of(source, module) == expected


def test_relative_imports_of_a_package_start_at_itself() -> None:
    assert imports_of("from .b import c", "fluxrpc.x", is_package=True) == {"fluxrpc.x.b", "fluxrpc.x.b.c"}
