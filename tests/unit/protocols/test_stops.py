from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxrpc.protocols.stops import StopScanner, compiled_stops


def scan(stops: list[str], *pieces: str) -> tuple[list[str], str]:
    scanner = StopScanner(compiled_stops(stops))
    given_out = [scanner.feed(piece) for piece in pieces]
    return [*given_out, scanner.close()], scanner.matched


@pytest.mark.parametrize(
    ("stops", "pieces", "given_out", "matched"),
    [
        ([], ["abc"], ["abc", ""], ""),
        ([""], ["abc"], ["abc", ""], ""),
        (["END"], ["Hello END you"], ["Hello ", ""], "END"),
        (["END"], ["Hello E", "N", "D you", "more"], ["Hello ", "", "", "", ""], "END"),
        (["END"], ["Hello E", "N", "ough"], ["Hello ", "", "ENough", ""], ""),
        (["END"], ["Hello EN"], ["Hello ", "EN"], ""),
        (["aab"], ["aa", "a", "ab"], ["", "a", "a", ""], "aab"),
        (["ab", "bcd"], ["abcd"], ["", ""], "ab"),
        (["abc", "b"], ["xabc"], ["xa", ""], "b"),
        (["b", "ab"], ["xab"], ["x", ""], "ab"),
        (["ab", "b"], ["xab"], ["x", ""], "ab"),
        (["\U0001f600"], ["a\U0001f600"], ["a", ""], "\U0001f600"),
    ],
)
def test_where_a_text_is_cut(stops: list[str], pieces: list[str], given_out: list[str], matched: str) -> None:
    assert scan(stops, *pieces) == (given_out, matched)


def _first(text: str, stops: list[str]) -> tuple[str, str]:
    """The plain way: look at every end of every stop."""
    found = [(text.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop and stop in text]
    if not found:
        return text, ""
    end, _, stop = min(found)
    return text[: end - len(stop)], stop


@given(
    st.lists(st.text("ab", max_size=4), max_size=4),
    st.lists(st.text("ab", max_size=5), max_size=6),
)
def test_any_cutting_gives_the_same(stops: list[str], pieces: list[str]) -> None:
    given_out, matched = scan(stops, *pieces)
    assert ("".join(given_out), matched) == _first("".join(pieces), stops)


def test_what_is_given_out_is_counted() -> None:
    scanner = StopScanner(compiled_stops(["cd"]))
    scanner.feed("abc")
    assert scanner.sent_length == 2
    scanner.close()
    assert scanner.sent_length == 3


def test_time_is_linear_in_the_text() -> None:
    stop = "a" * 2000 + "b"
    scanner = StopScanner(compiled_stops([stop]))
    started = time.process_time()
    for _ in range(200):
        scanner.feed("a" * 500)
    assert time.process_time() - started < 2
