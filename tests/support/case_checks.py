"""Named checks on translated bodies: small questions that a pattern cannot ask of a `Produced`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+|\*)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """What came of a case: `value` is the decoded body that is looked at, `text` its bytes as text."""

    value: Any
    text: str


def at_path(value: Any, path: str) -> list[Any]:
    """All values at `a.b[*].c`; none where there is no such place."""
    found = [value]
    for name, index in _STEP.findall(path):
        found = [inner for each in found for inner in _step(each, name, index)]
    return found


def _step(value: Any, name: str, index: str) -> Iterator[Any]:
    if name:
        if isinstance(value, dict) and name in value:
            yield value[name]
    elif isinstance(value, list):
        if index == "*":
            yield from value
        elif int(index) < len(value):
            yield value[int(index)]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _nodes(each)


def _texts(value: Any) -> Iterator[str]:
    """What a model would read as text."""
    for node in _nodes(value):
        for key in ("text", "content"):
            if isinstance(node.get(key), str):
                yield node[key]


def _refs_stand_alone(node: dict[str, Any]) -> bool:
    return "$ref" not in node or all(key.startswith("$") for key in node)


def _number_at_least(check: dict[str, Any], it: Produced) -> bool:
    return all(value >= check["value"] for value in at_path(it.value, check["path"]))


def _below(check: dict[str, Any], it: Produced) -> bool:
    return all(a < b for a in at_path(it.value, check["a"]) for b in at_path(it.value, check["b"]))


def _unique(check: dict[str, Any], it: Produced) -> bool:
    found = at_path(it.value, check["path"])
    return bool(found) and len(found) == len(set(found))


def _all_match(check: dict[str, Any], it: Produced) -> bool:
    found = at_path(it.value, check["path"])
    return bool(found) and all(re.search(check["regex"], each) for each in found)


def _no_empty_text(_: dict[str, Any], it: Produced) -> bool:
    return all(node["text"] for node in _nodes(it.value) if node.get("type") == "text")


def _absent_keys(check: dict[str, Any], it: Produced) -> bool:
    under = at_path(it.value, check["under"])
    return not [node for root in under for node in _nodes(root) if not set(check["keys"]).isdisjoint(node)]


def _starts_block(check: dict[str, Any], it: Produced) -> bool:
    starts = [data for _, data in it.value if data["type"] == "content_block_start" and data["index"] == check["index"]]
    return len(starts) == 1 and check["subset"].items() <= starts[0]["content_block"].items()


CHECKS: dict[str, Callable[[dict[str, Any], Produced], bool]] = {
    "count_substring": lambda check, it: it.text.count(check["value"]) == check["equals"],
    "no_match": lambda check, it: not any(re.search(check["regex"], v) for v in at_path(it.value, check["path"])),
    "absent_key_anywhere": _absent_keys,
    "ref_nodes_have_no_non_dollar_siblings": lambda check, it: all(
        _refs_stand_alone(node) for root in at_path(it.value, check["under"]) for node in _nodes(root)
    ),
    "no_empty_text_block": _no_empty_text,
    "regex_all": _all_match,
    "unique": _unique,
    "paths_equal": lambda check, it: at_path(it.value, check["a"]) == at_path(it.value, check["b"]) != [],
    "no_substring_in_text": lambda check, it: not any(check["value"] in text for text in _texts(it.value)),
    "gte": _number_at_least,
    "path_lt": _below,
    "any_equals": lambda check, it: any(at_path(it.value, path) == [check["value"]] for path in check["paths"]),
    "raw_contains": lambda check, it: check["value"] in it.text,
    "raw_not_contains": lambda check, it: check["value"] not in it.text,
    "if_ok": lambda check, it: all(value in check["in"] for value in at_path(it.value, check["path"])),
    "not_equal": lambda check, it: at_path(it.value, check["path"]) != [check["value"]],
    "client_path_not_contains": lambda check, it: all(
        check["value"] not in value for value in at_path(it.value, check["path"])
    ),
    "no_substring_in_stream": lambda check, it: check["value"] not in it.text,
    "no_event": lambda check, it: check["event"] not in it.text,
    "content_block_start_has": _starts_block,
}
"""Checks by name."""

BY_OTHERS = frozenset({"no_unhandled_exception", "deterministic", "roundtrip_name", "retry_or_failover_allowed",
                       "no_silent_retry", "error_mentions", "max_error_len", "trailing_metadata_or_detail",
                       "target_benched"})  # fmt: skip
"""What the test itself looks at, or what is no matter of one body."""


def failed_checks(checks: list[dict[str, Any]], produced: Produced) -> list[str]:
    """The checks that do not hold."""
    asked = [check for check in checks if check["op"] not in BY_OTHERS]
    return [json.dumps(check) for check in asked if not CHECKS[check["op"]](check, produced)]
