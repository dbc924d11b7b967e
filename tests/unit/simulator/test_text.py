"""Deterministic words."""

from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.simulator.text import count_words, fragments, sample_arguments, texts


@pytest.mark.parametrize("text", ["", "one", " two  words ", "a\n\nb\t", "   "])
def test_fragments_join_to_the_text(text: str) -> None:
    assert "".join(fragments(text)) == text


def test_texts_leave_out_roles_and_media() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    message = {"role": "user", "content": [{"type": "text", "text": "look here"}, image]}
    assert list(texts([message, {"role": "tool", "content": "done"}])) == ["look here", "done"]
    assert count_words([message], "be kind", None) == 4
    assert count_words([]) == 1


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, {}),
        (True, {}),
        ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}, {"a": 1}),
        ({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}, {"a": "sample"}),
        ({"type": "array", "items": {"type": "number"}}, [1.5]),
        ({"type": "array"}, []),
        ({"enum": ["x", "y"]}, "x"),
        ({"const": 4}, 4),
        ({"type": ["boolean", "null"]}, True),
        ({"type": "null"}, None),
    ],
)
def test_sample_arguments_fit_the_schema(schema: Any, value: Any) -> None:
    assert sample_arguments(schema) == value
