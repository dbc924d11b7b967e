from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxrpc.errors import AnswerFault
from fluxrpc.upstream.inflate import Inflater, inflater_for


def unfold(pieces: list[bytes]) -> bytes:
    inflater, plain = Inflater(), b""
    for piece in pieces:
        inflater.give(piece)
        while out := inflater.take():
            plain += out
    inflater.finish()
    return plain


@given(st.binary(max_size=300), st.sampled_from(["gzip", "zlib"]), st.integers(1, 50))
def test_any_cutting_unfolds_to_the_same(data: bytes, name: str, size: int) -> None:
    pack: Callable[[bytes], bytes] = gzip.compress if name == "gzip" else zlib.compress
    packed = pack(data)
    assert unfold([packed[i : i + size] for i in range(0, len(packed), size)]) == data


def test_bare_deflate_is_recognised_even_byte_by_byte() -> None:
    packed = zlib.compress(b"hello" * 9)[2:-4]
    assert unfold([packed[i : i + 1] for i in range(len(packed))]) == b"hello" * 9


def test_members_may_follow_each_other() -> None:
    assert unfold([gzip.compress(b"a") + gzip.compress(b"b"), gzip.compress(b"c")]) == b"abc"


def test_pieces_are_bounded() -> None:
    inflater = Inflater()
    inflater.give(gzip.compress(bytes(1 << 22)))
    sizes = []
    while piece := inflater.take():
        sizes.append(len(piece))
    inflater.finish()
    assert (max(sizes), sum(sizes)) == (256 * 1024, 1 << 22)


@pytest.mark.parametrize("body", [b"\x1f", gzip.compress(b"abc")[:-1], b"not compressed", gzip.compress(b"a") + b"zz"])
def test_cut_or_broken_bodies(body: bytes) -> None:
    with pytest.raises(AnswerFault):
        unfold([body])


def test_an_empty_body_is_empty_in_any_encoding() -> None:
    assert unfold([]) == b""


def test_encodings() -> None:
    assert inflater_for("") is inflater_for("Identity") is None
    assert inflater_for(" GZIP ") is not None
    for unasked in ("br", "zstd", "gzip, br"):
        with pytest.raises(AnswerFault):
            inflater_for(unasked)
