"""The native half of Cohere: what is read of bodies that pass as they are."""

from __future__ import annotations

import pytest

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import WireOptions
from fluxrpc.protocols.cohere.native import CohereNative

NATIVE = CohereNative()


def test_a_request_passes_with_its_model_replaced() -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}'
    head = NATIVE.read_head(body)
    wire = NATIVE.write_wire(head, body, model="command-a", stream=True, options=WireOptions())
    assert head.model == "m"
    assert (wire.path, b'"command-a"' in wire.body, b'"stream":true' in wire.body) == ("/v2/chat", True, True)


def test_an_answer_passes_with_its_usage_read() -> None:
    body = b'{"message":{},"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":4.0}}}'
    answer = NATIVE.read_answer(body)
    assert (answer.body, answer.usage and answer.usage.input_tokens) == (body, 4)
    assert NATIVE.read_answer(b'{"message":{}}').usage is None


def test_a_failed_answer_is_an_error() -> None:
    with pytest.raises(ProviderError):
        NATIVE.read_answer(b'{"message":{},"finish_reason":"ERROR"}')


def test_an_error_of_ours_is_a_message() -> None:
    assert NATIVE.write_error(500, "m", "c") == b'{"message":"m"}'
