"""The two ways to find a field agree, and a splice changes nothing but what it names."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.json_scan import Edit, apply, find_spans, insert_first, remove_field, scan_fields

NAMES = ("model", "stream", "stream_options")
FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])

keys = st.sampled_from([*NAMES, "a", "é", 'q"', "\\", "model "]) | st.text(max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["model", '"model":', ",}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
layouts = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " : "), (",  ", ":"), (",", ": ")])
blanks = st.sampled_from(["", " ", "  "])


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """JSON objects in many layouts, regular and by hand, with keys that may come twice."""
    comma, colon = draw(layouts)
    pairs = draw(st.lists(st.tuples(keys, values), max_size=5))
    ascii_only = draw(st.booleans())

    def dump(value: object) -> str:
        return json.dumps(value, separators=(comma, colon), ensure_ascii=ascii_only)

    if draw(st.booleans()):
        inside = comma.join(dump(key) + colon + dump(value) for key, value in pairs)
    else:
        inside = ",".join(draw(blanks) + dump(key) + ":" + draw(blanks) + dump(value) for key, value in pairs)
    blank = draw(st.sampled_from(["", " ", "\n\t"]))
    return f"{blank}{{{blank}{inside}{blank}}}{blank}".encode()


def read(body: bytes) -> dict[str, msgspec.Raw] | None:
    try:
        return FIELDS.decode(body)
    except msgspec.DecodeError:  # half of a surrogate pair: refused before anything is spliced
        return None


@settings(deadline=None, max_examples=300)
@given(body=bodies())
def test_both_ways_find_the_same_spans(body: bytes) -> None:
    fields = read(body)
    if fields is None:
        return
    exact = [(name, span) for name, span in scan_fields(body, fields) if name in NAMES]
    assert {name for name, _ in scan_fields(body, fields)} == set(fields)
    if len(exact) > len({name for name, _ in exact}):
        try:
            find_spans(body, fields, NAMES)
        except InvalidRequest:
            return
        raise AssertionError("a field that stands twice was not refused")
    spans = find_spans(body, fields, NAMES)
    assert spans == dict(exact)
    for name, span in spans.items():
        assert body[span.start : span.end] == bytes(fields[name])


@settings(deadline=None, max_examples=300)
@given(body=bodies(), fresh=st.text(max_size=5))
def test_a_splice_changes_only_its_field(body: bytes, fresh: str) -> None:
    fields = read(body)
    if fields is None:
        return
    pairs = json.loads(body, object_pairs_hook=lambda found: found) if fields else []
    scanned = scan_fields(body, fields)
    for at, (name, span) in enumerate(scanned):
        replaced = apply(body, [Edit(span.start, span.end, json.dumps(fresh).encode())])
        expected = [*pairs[:at], (name, fresh), *pairs[at + 1 :]]
        assert json.loads(replaced, object_pairs_hook=lambda found: found) == expected
        removed = apply(body, [remove_field(body, span)])
        rest = [*pairs[:at], *pairs[at + 1 :]]
        assert json.loads(removed, object_pairs_hook=lambda found: found) == rest
    inserted = apply(body, [insert_first(body, b'"new":1')])
    assert json.loads(inserted, object_pairs_hook=lambda found: found) == [("new", 1), *pairs]
    assert apply(body, []) is body
