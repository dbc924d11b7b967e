from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.node import Node, merge_extras, raw, spelling
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE, PROTOCOL_OPENAI, Extra


def node(text: str) -> Node:
    return Node.root(text.encode())


def test_values() -> None:
    root = node('{"t":"x","ts":["a"],"n":1.5,"i":37.0,"b":false,"v":[1],"j": {"a": 1e2} ,"o":{"k":1},"l":[{"k":2}]}')
    assert (root.text("t"), root.texts("ts"), root.number("n"), root.integer("i")) == ("x", ["a"], 1.5, 37)
    assert (root.flag("b"), root.value("v"), root.json("j")) == (False, [1], '{"a": 1e2}')
    inner, listed = root.node("o"), root.nodes("l")
    assert inner is not None
    assert (inner.integer("k"), listed[0].integer("k")) == (1, 2)
    assert (inner.path, listed[0].path, inner.at("k"), root.at("k")) == ("o", "l[0]", "o.k", "k")
    assert root.extras(PROTOCOL_OPENAI) == []


def test_what_is_absent_or_null() -> None:
    root = node('{"null":null}')
    for key in ("null", "absent"):
        assert key not in root
        assert (root.text(key), root.number(key), root.integer(key), root.flag(key), root.value(key)) == (None,) * 5
        assert (root.texts(key), root.nodes(key), list(root.items(key)), root.node(key)) == ([], [], [], None)
        assert root.json(key) == ""
    assert [(extra.key, extra.value_json) for extra in root.extras(PROTOCOL_OPENAI)] == [("null", "null")] * 1


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (Node.text, "1", "a string"),
        (Node.texts, '["a",1]', "a list of strings"),
        (Node.number, '"1"', "a number"),
        (Node.integer, "1.5", "a whole number"),
        (Node.integer, '"1"', "a whole number"),
        (Node.flag, "1", "true or false"),
        (Node.node, "[]", "an object"),
        (Node.nodes, "{}", "a list"),
        (Node.value, "1e999", "JSON"),
    ],
)
def test_what_is_of_another_type(read: Any, value: str, expected: str) -> None:
    inner = node('{"a":[{"k":' + value + "}]}").nodes("a")[0]
    with pytest.raises(JsonFault, match=f"^{expected} is expected") as caught:
        read(inner, "k")
    assert caught.value.path == "a[0].k"


def test_items_have_paths() -> None:
    with pytest.raises(JsonFault) as caught:
        node('{"a":[{},1]}').nodes("a")
    assert caught.value.path == "a[1]"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"a":"\xff"}', b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_bodies_that_are_none(body: bytes) -> None:
    with pytest.raises(JsonFault) as caught:
        Node.root(body).value("a")
    assert caught.value.path in ("", "a")


def test_looking_consumes_nothing() -> None:
    root = node('{"t": "x","l": [],"o": {}}')
    assert (root.is_text("t"), root.is_list("l"), root.is_object("o")) == (True,) * 3
    assert (root.is_text("l"), root.is_list("o"), root.is_object("absent")) == (False,) * 3
    assert (bytes(root.peek("l")), bytes(root.peek("absent"))) == (b"[]", b"null")
    assert "t" in root
    assert root.text("t") == "x"
    assert "t" not in root
    assert root.rest() == '{"l":[],"o":{}}'


def test_what_is_left_is_carried() -> None:
    root = node('{"model":"m","seed":null,"x":1.0,"in":{"y":[1e2]}}')
    root.text("model")
    root.take("seed")
    inner = root.node("in")
    assert inner is not None
    assert [(each.key, each.value_json) for each in inner.extras(PROTOCOL_OPENAI, "in.")] == [("in.y", "[1e2]")]
    left = root.extras(PROTOCOL_OPENAI)
    assert [(each.key, each.value_json) for each in left] == [("x", "1.0"), ("seed", "null")]
    assert root.extras(PROTOCOL_OPENAI) == []


def test_answers_carry_no_nulls() -> None:
    root = node('{"a":null,"b":null}')
    root.take("a")
    assert [each.key for each in root.extras(PROTOCOL_OPENAI, nulls=False)] == ["b"]


_JSON = st.recursive(st.integers(0, 9), lambda inner: st.dictionaries(st.text("a.\\~", max_size=3), inner, max_size=3))


@given(st.dictionaries(st.text("a.\\~\u00e9", max_size=4), _JSON, max_size=4))
def test_extras_go_back_to_where_they_came_from(fields: dict[str, Any]) -> None:
    body = msgspec.json.encode(fields)
    merged: dict[str, Any] = {}
    merge_extras(merged, Node.root(body).extras(PROTOCOL_OPENAI), PROTOCOL_OPENAI)
    assert msgspec.json.decode(msgspec.json.encode(merged)) == fields


def test_keys_with_dots_within_a_node() -> None:
    fields = {"in": {"b": 1}}
    merge_extras(fields, node('{"x.y":2}').extras(PROTOCOL_OPENAI, "in."), PROTOCOL_OPENAI)
    assert msgspec.json.encode(fields) == b'{"in":{"b":1,"x.y":2}}'


def test_merging() -> None:
    fields: dict[str, Any] = {"stop": ["a"], "kept": 1, "text": "t", "in": {"a": 1}}
    extras = [
        Extra(protocol=PROTOCOL_OPENAI, key="kept", value_json="2"),
        Extra(protocol=PROTOCOL_OPENAI, key="in.b", value_json="2"),
        Extra(protocol=PROTOCOL_OPENAI, key="new.b.c", value_json="3"),
        Extra(protocol=PROTOCOL_OPENAI, key="text.lost", value_json="4"),
        Extra(protocol=PROTOCOL_OPENAI, key="text.lost.too", value_json="4"),
        Extra(protocol=PROTOCOL_COHERE, key="foreign", value_json="5"),
        spelling(PROTOCOL_OPENAI, "stop", '"a"'),
    ]
    merge_extras(fields, extras, PROTOCOL_OPENAI)
    assert msgspec.json.decode(msgspec.json.encode(fields)) == {
        "stop": "a",
        "kept": 1,
        "text": "t",
        "in": {"a": 1, "b": 2},
        "new": {"b": {"c": 3}},
    }


def test_json_is_embedded_as_it_stands() -> None:
    assert msgspec.json.encode({"a": raw('{"b": 1.0}')}) == b'{"a":{"b": 1.0}}'


@pytest.mark.parametrize(
    ("reader", "nothing"),
    [
        ("take", None), ("json", ""), ("text", None), ("texts", []), ("number", None), ("integer", None),
        ("flag", None), ("value", None), ("node", None), ("nodes", []),
    ],
)  # fmt: skip
def test_null_is_absence_and_is_carried(reader: str, nothing: Any) -> None:
    node = Node.root(b'{"a":null}')
    assert getattr(node, reader)("b") == nothing
    assert getattr(node, reader)("a") == nothing
    assert [(extra.key, extra.value_json) for extra in node.extras(PROTOCOL_OPENAI)] == [("a", "null")]


def test_fields_that_are_read_elsewhere() -> None:
    node = Node.root(b'{"a":1,"b":null,"c":"x"}')
    node.forget(frozenset({"a", "b", "d"}))
    assert node.is_only_text("c")
    assert not node.is_only_text("a")
    assert [extra.key for extra in node.extras(PROTOCOL_OPENAI)] == ["c"]
