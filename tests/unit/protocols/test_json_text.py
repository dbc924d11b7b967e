from __future__ import annotations

import msgspec
import pytest

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.json_text import JsonFault, decode_answer, decode_halves, decode_request, depth

FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
TEXTS = msgspec.json.Decoder(dict[str, str])


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        (b"", "", "not JSON"),
        (b"{", "", "not JSON"),
        (b'{"a":1} x', "", "not JSON"),
        (b"[]", "", "Expected `object`"),
        (b"null", "", "Expected `object`"),
        (b'{"messages":[{"temperature":NaN}]}', "messages[0].temperature", "NaN is not JSON"),
        (b'{"a":{"b":-Infinity}}', "a.b", "-Infinity is not JSON"),
        (b'{"messages":[{"content":"x"},{"content":"\\ud800"}]}', "messages[1].content", "surrogate"),
        (b'{"a":"\\udc00 later"}', "a", "surrogate"),
        (b'{"a":{"\\ud800":1}}', "a", "in a key"),
        (b'{"a":"\xff"}', "", "not UTF-8 (byte 6)"),
        (b'{"a":"\\ud800","b":"\xff"}', "", "not JSON"),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "", "deeper than 128"),
        (b'{"a":' + b"[" * 128 + b"]" * 128 + b"}", "", "deeper than 128"),
        (b'{"a":1e5,}', "", "not JSON"),
    ],
)
def test_a_bad_body_is_refused_with_its_path(body: bytes, path: str, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode_request(FIELDS, body)
    (violation,) = caught.value.violations
    assert violation.path == path
    assert words in violation.message


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":' + b"[" * 127 + b"]" * 127 + b"}",
        b'{"a":[' + b"[]," * 500 + b"[]]}",
        b'{"a":"' + b"[" * 500 + b'\\"' + b"{" * 500 + b'"}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":1e999,"b":"\\ud83d\\ude00"}',
        '{"clé":"é"}'.encode(),
    ],
)
def test_odd_but_good_bodies_pass(body: bytes) -> None:
    assert decode_request(FIELDS, body)


def test_depth_counts_only_brackets_outside_of_strings() -> None:
    assert depth(b"1") == 0
    assert depth(b'{"a\\\\":[1,{"b":"[[[\\"[["}]}') == 3


@pytest.mark.parametrize(
    ("text", "incomplete"),
    [
        (b'{"a":"b', True),
        (b'{"a":1}', False),
        (b'{"a":"\xff"}', False),
        (b'{"a":"\\ud800', True),
        (b"<html>", False),
        (b"[" * 5000, False),
    ],
)
def test_a_bad_answer_is_a_fault(text: bytes, incomplete: bool) -> None:
    for decode in (decode_answer, decode_halves):
        with pytest.raises(JsonFault) as caught:
            decode(TEXTS, text)
        assert caught.value.incomplete is incomplete


@pytest.mark.parametrize("text", [b'{"a":"\xff"}', b'{"a":' + b"[" * 5000])
def test_a_bad_value_that_is_skipped_is_a_fault_too(text: bytes) -> None:
    with pytest.raises(JsonFault):
        decode_answer(FIELDS, text)


def test_halves_of_pairs_are_let_through_in_answers() -> None:
    text = b'{"a":"x\\ud83d","b":"\\\\ud83d","c":"\\ud83d\\ude00","d":"\\ude00"}'
    assert decode_answer(TEXTS, text) == {"a": "x\ufffd", "b": "\\ud83d", "c": "😀", "d": "\ufffd"}
    assert decode_halves(TEXTS, text) == {"a": "x\ud83d", "b": "\\ud83d", "c": "😀", "d": "\ude00"}
    assert decode_halves(TEXTS, b'{"a":"\\u00e9"}') == {"a": "é"}


def test_halves_beside_an_integer_that_python_refuses() -> None:
    class Text(msgspec.Struct):
        a: str

    decoder = msgspec.json.Decoder(Text)
    assert decode_halves(decoder, b'{"a":"\\ud83d","b":' + b"9" * 5000 + b"}").a == "\ufffd"


def test_the_path_of_a_fault_is_looked_for_in_bodies_of_usual_size() -> None:
    decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    for size, path in ((1_000, "x"), (5_000_000, "")):
        with pytest.raises(InvalidRequest) as caught:
            decode_request(decoder, b'{"a":"%s","x":NaN}' % (b"a" * size))
        assert caught.value.violations[0].path == path
