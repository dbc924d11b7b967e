"""The copies of OpenAI Chat Completions: data, with a date and a source for each.

`data/dialects.toml` says what each takes of requests, and by which hosts it is known. Answers are not its matter: the
reader takes the fields of all dialects. Nothing here knows how requests are written.
"""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from importlib.resources import files
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

__all__ = ["Dialect", "DialectRow", "dialect_named", "dialect_of", "dialect_rows", "dialects_date"]


class Dialect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one copy takes of requests."""

    is_original: bool = False
    """It knows what OpenAI alone has: custom tools, allowed tools, cache breakpoints, service tiers, verbosity, …"""
    developer_role: bool = False
    output_schema: bool = True
    web_search: bool = False
    """It takes `web_search_options`."""
    top_k: bool = False
    reasoning_field: str = ""
    """Which field of an assistant message takes earlier reasoning; "" for none."""
    reasoning_only_with_calls: bool = False
    """It wants that field in messages with tool calls, and nowhere else."""
    reasoning_details: bool = False
    """It takes its own `reasoning_details` back."""
    thinking_blocks: bool = False
    """It takes its own `thinking_blocks` back."""
    thought_signatures: bool = False
    """It takes Gemini's signatures in `extra_content`."""
    reasoning_object: bool = False
    """It takes `reasoning: {effort, max_tokens, exclude}` in the place of `reasoning_effort`."""
    thinking_switch: bool = False
    """It takes `thinking: {type}`."""


class DialectRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the data."""

    name: str
    """What a configuration calls it; "" for the original, which is also what an unknown host is taken for."""
    hosts: tuple[str, ...] = ()
    """Patterns with `*`, lower case, of hosts, or of hosts with their port."""
    traits: Dialect = Dialect()
    source: str
    """Where it is said."""


class _File(Struct, frozen=True, kw_only=True):
    date: str
    rows: tuple[DialectRow, ...]


def _read() -> _File:
    text = files("fluxrpc.protocols").joinpath("data", "dialects.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _File)


_DATA = _read()  # at import: no file is read while an event loop waits
_BY_NAME = {row.name: row.traits for row in _DATA.rows}
_PLAIN = Dialect()


def dialects_date() -> str:
    """The date of the data."""
    return _DATA.date


def dialect_rows() -> tuple[DialectRow, ...]:
    """All rows, in the order of the file."""
    return _DATA.rows


def dialect_named(name: str) -> Dialect:
    """The dialect of a name; one that is not known takes the plain fields and no more."""
    return _BY_NAME.get(name, _PLAIN)


def dialect_of(base_url: str) -> str:
    """The name of the dialect that the host of a base URL is known for; "" where it is not known.

    `base_url` is one that `check_base_url` accepts.
    """
    parts = urlsplit(base_url)
    names = (parts.hostname or "", parts.netloc.rpartition("@")[2].lower())
    for row in _DATA.rows:
        if any(fnmatchcase(name, pattern) for name in names for pattern in row.hosts):
            return row.name
    return ""
