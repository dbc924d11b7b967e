"""Deterministic words: the default answer, its pieces, word counts, and sample arguments for a tool's schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_PIECES = re.compile(r"\s*\S+|\s+\Z")
_TEXT_KEYS = ("content", "parts", "text", "output", "input", "thinking")


def fragments(text: str) -> tuple[str, ...]:
    """The text in pieces of one word with the blanks before it; joined they are the text."""
    return tuple(_PIECES.findall(text))


def slices(text: str, size: int = 8) -> tuple[str, ...]:
    """The text in pieces of `size` characters."""
    return tuple(text[at : at + size] for at in range(0, len(text), size))


def texts(node: Any) -> Iterator[str]:
    """Every text in a message, a list of messages or of parts, in order; roles, ids and media are left out."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node:
            yield from texts(item)
    elif isinstance(node, dict):
        for key in _TEXT_KEYS:
            if key in node:
                yield from texts(node[key])


def count_words(*nodes: Any) -> int:
    """Words in the texts of the nodes, at least one: the simulator's token."""
    return max(1, sum(len(text.split()) for node in nodes for text in texts(node)))


def default_answer(model: str, prompt: str) -> str:
    """What a healthy model says when nobody told it what to say."""
    words = prompt.split()
    heard = " ".join(words[:8])
    return f"Model {model} heard {len(words)} words: {heard}. All is well."


def sample_arguments(schema: Any) -> Any:
    """A value that fits the common parts of a JSON Schema: required properties, first enum value."""
    if not isinstance(schema, dict):
        return {}
    if schema.get("enum"):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "object")
    name = str(kind[0] if isinstance(kind, list) else kind).lower()
    if name == "object":
        properties = schema.get("properties", {})
        required = schema.get("required", list(properties))
        return {key: sample_arguments(properties.get(key, {"type": "string"})) for key in required}
    if name == "array":
        return [sample_arguments(schema["items"])] if "items" in schema else []
    return {"integer": 1, "number": 1.5, "boolean": True, "null": None}.get(name, "sample")
