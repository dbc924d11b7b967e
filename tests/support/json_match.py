"""Patterns of JSON: which parts of a value must be there, and what they must be like.

An object matches where each key that is given matches; a list in length and order; `{}` matches anything. An object
with one key that begins with `$` is a rule, see `_RULES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

ABSENT: Final = object()
_KINDS = {"object": dict, "array": list, "string": str, "integer": int}


def mismatches(pattern: Any, value: Any, path: str = "$") -> list[str]:
    """What does not match, each with its path; none = it matches."""
    return list(_compare(pattern, value, path))


def _compare(pattern: Any, value: Any, path: str) -> Iterator[str]:
    if isinstance(pattern, dict) and len(pattern) == 1 and (name := next(iter(pattern))).startswith("$"):
        yield from _RULES[name](pattern[name], value, path)
    elif value is ABSENT:
        yield f"{path}: is missing"
    elif isinstance(pattern, dict):
        if pattern and not isinstance(value, dict):
            yield f"{path}: {value!r} is no object"
        else:
            for key, inner in pattern.items():
                yield from _compare(inner, value.get(key, ABSENT), f"{path}.{key}")
    elif isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            yield f"{path}: {value!r} is no list of {len(pattern)}"
        else:
            for at, inner in enumerate(pattern):
                yield from _compare(inner, value[at], f"{path}[{at}]")
    elif not _is_same(pattern, value, path):
        yield f"{path}: {value!r} is not {pattern!r}"


def _is_same(pattern: Any, value: Any, path: str) -> bool:
    if path.endswith(".type") and isinstance(pattern, str) and isinstance(value, str) and pattern.isupper():
        return pattern.lower() == value.lower()  # Gemini takes schema types in any case
    is_number_kept = not (isinstance(pattern, int) and isinstance(value, float))
    return bool(pattern == value) and is_number_kept and isinstance(pattern, bool) == isinstance(value, bool)


def _holds(condition: bool, words: str) -> Iterator[str]:  # the condition is the point
    if not condition:
        yield words


def _one_of(patterns: Any, value: Any, path: str) -> Iterator[str]:
    found = [mismatches(each, value, path) for each in patterns]
    yield from _holds(any(not each for each in found), f"{path}: matches no alternative: {found}")


def _text(text: Any, value: Any, path: str) -> Iterator[str]:
    joined = value
    if isinstance(value, list):
        joined = "".join(part.get("text", "") for part in value)
    yield from _holds(joined == text, f"{path}: the text of {value!r} is not {text!r}")


def _json(pattern: Any, value: Any, path: str) -> Iterator[str]:
    yield from _compare(pattern, json.loads(value), path) if isinstance(value, str) else [f"{path}: no JSON text"]


def _listed(patterns: Any, value: Any, path: str, *, all_of_it: bool) -> Iterator[str]:
    left = list(value) if isinstance(value, list) else []
    for pattern in patterns:
        at = next((at for at, each in enumerate(left) if not mismatches(pattern, each)), None)
        if at is None:
            yield f"{path}: nothing in {value!r} matches {pattern!r}"
        else:
            del left[at]
    yield from _holds(not (all_of_it and left), f"{path}: more than expected: {left!r}")


_Rule = Callable[[Any, Any, str], Iterator[str]]
_RULES: dict[str, _Rule] = {
    "$oneOf": _one_of,
    "$text": _text,
    "$json": _json,
    "$unordered": lambda patterns, value, path: _listed(patterns, value, path, all_of_it=True),
    "$contains": lambda patterns, value, path: _listed(patterns, value, path, all_of_it=False),
    "$absent": lambda _, value, path: _holds(value is ABSENT, f"{path}: must be absent"),
    "$any": lambda _, value, path: _holds(value is not ABSENT, f"{path}: is missing"),
    "$nonempty": lambda _, value, path: _holds(value is not ABSENT and bool(value), f"{path}: is empty"),
    "$not": lambda pattern, value, path: _holds(
        bool(mismatches(pattern, value)), f"{path}: must not match {pattern!r}"
    ),
    "$re": lambda regex, value, path: _holds(
        isinstance(value, str) and re.search(regex, value) is not None, f"{path}: {value!r} does not match {regex}"
    ),
    "$type": lambda kind, value, path: _holds(type(value) is _KINDS[kind], f"{path}: {value!r} is no {kind}"),
    "$object_containing_value": lambda inner, value, path: _holds(
        isinstance(value, dict) and inner in value.values(), f"{path}: {inner!r} is not in {value!r}"
    ),
}
