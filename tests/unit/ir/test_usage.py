from __future__ import annotations

from fluxrpc.ir import merge_usage
from fluxrpc.v1 import (
    MODALITY_AUDIO,
    MODALITY_TEXT,
    PROTOCOL_COHERE,
    PROTOCOL_OPENAI,
    CacheWrite,
    Extra,
    ModalityTokens,
    Usage,
)


def test_later_counters_win_and_absent_ones_keep() -> None:
    known = Usage(input_tokens=10, output_tokens=1, cache_read_tokens=4, estimated=True)
    merge_usage(known, Usage(output_tokens=0, reasoning_tokens=3))
    assert known == Usage(input_tokens=10, output_tokens=0, cache_read_tokens=4, reasoning_tokens=3)
    assert known.HasField("output_tokens")


def test_breakdowns_are_replaced_as_a_whole() -> None:
    text, audio = (ModalityTokens(modality=kind, tokens=5) for kind in (MODALITY_TEXT, MODALITY_AUDIO))
    known = Usage(cache_writes=[CacheWrite(tokens=1)], input_modalities=[text], output_modalities=[text, audio])
    merge_usage(known, Usage(total_tokens=1))
    assert known.cache_writes == [CacheWrite(tokens=1)]
    assert known.output_modalities == [text, audio]
    later = Usage(cache_writes=[CacheWrite(tokens=2)], input_modalities=[audio], output_modalities=[audio])
    merge_usage(known, later)
    assert known.cache_writes == [CacheWrite(tokens=2)]
    assert known.input_modalities == [audio]
    assert known.output_modalities == [audio]


def test_extras_are_replaced_by_protocol_and_key() -> None:
    def extra(protocol: int, key: str, value: str) -> Extra:
        return Extra(protocol=protocol, key=key, value_json=value)  # type: ignore[arg-type]  # plain int for brevity

    known = Usage(extras=[extra(PROTOCOL_COHERE, "a", "1"), extra(PROTOCOL_COHERE, "b", "1")])
    merge_usage(known, Usage(extras=[extra(PROTOCOL_COHERE, "a", "2"), extra(PROTOCOL_OPENAI, "a", "3")]))
    assert known.extras == [
        extra(PROTOCOL_COHERE, "a", "2"),
        extra(PROTOCOL_COHERE, "b", "1"),
        extra(PROTOCOL_OPENAI, "a", "3"),
    ]
