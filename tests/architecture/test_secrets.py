"""Nothing of one machine or one person in any file: no home folder, no package index, no key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Made or installed, and never committed.
SKIPPED = {".git", ".venv", ".envs", "build", "dist", "node_modules", "__pycache__", ".hypothesis"}
CACHE = re.compile(r"^\..*_cache$|^\.coverage|^\.env$|\.egg-info$")

FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w.$}~-])/(?:root|home|Users|work|tmp/work)/\w"),
    "an address of a package index": re.compile(
        r"https?://[^\s'\"]*(?:/simple\b|/registry\b|registry[.]|/packages/[0-9a-f]{2}/)"
        r"|--(?:extra-)?index-url[ =]|--find-links[ =]|GOPROXY ?[:?]?= ?\S"
    ),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/=\n]{64}"),
    "a provider's key": re.compile(
        r"\bsk-(?:proj-|ant-api03-)?[A-Za-z0-9_-]{40,}|\bAIza[A-Za-z0-9_-]{35}\b|\bAKIA[A-Z0-9]{16}\b"
    ),
}


def files() -> Iterator[Path]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in SKIPPED and not CACHE.search(name)]
        yield from (Path(folder, name) for name in names if not CACHE.search(name))


def text_of(path: Path) -> str:
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode("utf-8", "replace")


def findings(text: str) -> list[str]:
    return [what for what, pattern in FORBIDDEN.items() if pattern.search(text)]


def test_no_file_holds_any_of_it() -> None:
    texts = {path.relative_to(ROOT).as_posix(): text_of(path) for path in files() if path.is_file()}
    assert {"Makefile", "pyproject.toml", "requirements/dev.txt", ".ci/run"} <= texts.keys()
    assert {name: found for name, text in texts.items() if (found := findings(text))} == {}


@pytest.mark.parametrize("folder", ["root", "home", "tmp/work"])
def test_a_path_is_found(folder: str) -> None:
    assert findings(f"see /{folder}/someone/notes") == ["a path of one machine"]


@pytest.mark.parametrize(
    "option", ["--index-" + "url https://x", "--find-" + "links=x", "https://host/sim" + "ple/", "GOPROXY" + "=x"]
)
def test_an_index_is_found(option: str) -> None:
    assert findings(f"pip install {option}") == ["an address of a package index"]


def test_a_key_is_found() -> None:
    assert findings("key: sk-" + "a1" * 24) == ["a provider's key"]
    assert findings("-----BEGIN PRIVATE KEY-----\n" + "A" * 64) == ["a private key"]


@pytest.mark.parametrize("text", ["https://example.com/work/x", "network/work/x", "sk-test", "${HOME}/home/x"])
def test_what_only_looks_alike_is_not(text: str) -> None:
    assert findings(text) == []
