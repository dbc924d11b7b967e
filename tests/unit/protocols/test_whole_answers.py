from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.errors import AnswerFault, AttemptError, Outcome, ProviderError
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.registry import NATIVE

OPENAI, ANTHROPIC, GEMINI, COHERE, RESPONSES = Protocol
CHOICE = '{"index":0,"message":{"role":"assistant","content":"x","refusal":null},"finish_reason":"stop"}'
COUNTED = '{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_cache_hit_tokens":1}'
SPARSE = '{"input_tokens":1,"output_tokens":2,"cache_creation":{},"server_tool_use":{}}'
SAID = '{"type":"message","content":[{"type":"output_text"}]}'


@pytest.mark.parametrize(
    ("protocol", "body", "model", "refused", "usage"),
    [
        (
            OPENAI,
            f'{{"model":"m","choices":[{CHOICE}],"usage":{COUNTED}}}',
            "m",
            False,
            {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "cache_read_tokens": 1},
        ),
        (OPENAI, f'{{"error":null,"choices":[{CHOICE}]}}', "", False, None),
        (OPENAI, '{"choices":[{"message":{"refusal":"no"},"finish_reason":"stop"}]}', "", True, None),
        (OPENAI, '{"choices":[{"finish_reason":"content_filter"}]}', "", True, None),
        (
            OPENAI,
            f'{{"choices":[{CHOICE}],"usage":{{"prompt_tokens":-1,"completion_tokens":"x","total_tokens":1e300}}}}',
            "",
            False,
            {},
        ),
        (
            ANTHROPIC,
            f'{{"type":"message","model":"c","content":[],"stop_reason":"end_turn","usage":{SPARSE}}}',
            "c",
            False,
            {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        (ANTHROPIC, '{"content":[],"stop_reason":"refusal"}', "", True, None),
        (ANTHROPIC, '{"content":[],"usage":{"input_tokens":1}}', "", False, {"input_tokens": 1}),
        # Odd counters are no reason to refuse an answer.
        (OPENAI, f'{{"choices":[{CHOICE}],"usage":{{"prompt_tokens_details":[]}}}}', "", False, None),
        (ANTHROPIC, '{"content":[],"usage":[]}', "", False, None),
        (GEMINI, '{"candidates":[{}],"usageMetadata":7}', "", False, None),
        (COHERE, '{"message":{},"usage":{"tokens":7}}', "", False, None),
        (RESPONSES, '{"object":"response","output":[{"content":"refusal"}],"usage":"x"}', "", False, None),
        (GEMINI, '{"candidates":[{"finishReason":"STOP"}],"modelVersion":"g"}', "g", False, None),
        (GEMINI, '{"candidates":[{"finishReason":"safety"}]}', "", True, None),
        (
            GEMINI,
            '{"promptFeedback":{"blockReason":"OTHER"},"usageMetadata":{"promptTokenCount":4}}',
            "",
            True,
            {"input_tokens": 4},
        ),
        (
            COHERE,
            '{"message":{"role":"assistant"},"finish_reason":"COMPLETE","usage":{"billed_units":null}}',
            "",
            False,
            {},
        ),
        (COHERE, '{"message":{}}', "", False, None),
        (
            RESPONSES,
            f'{{"object":"response","model":"r","output":[{SAID}],"usage":{SPARSE},"tool_usage":{{}}}}',
            "r",
            False,
            {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        (RESPONSES, '{"object":"response","output":[{"content":[{"type":"refusal"}]}]}', "", True, None),
        (
            RESPONSES,
            '{"object":"response","status":"incomplete","incomplete_details":{"reason":"content_filter"}}',
            "",
            True,
            None,
        ),
    ],
)
def test_what_is_read_of_an_answer(
    protocol: Protocol, body: str, model: str, refused: bool, usage: dict[str, Any] | None
) -> None:
    answer = NATIVE[protocol].read_answer(body.encode())
    assert answer.body == body.encode()
    assert answer.served_model == model
    assert answer.refused is refused
    read = None if answer.usage is None else {field.name: value for field, value in answer.usage.ListFields()}
    assert read == usage


@pytest.mark.parametrize("protocol", list(Protocol))
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "EMPTY_ANSWER"),
        (b" \r\n", "EMPTY_ANSWER"),
        (b"\n<!doctype html><p>", "HTML_ANSWER"),
        (b'{"choices":[{"index":0,"mess', "TRUNCATED_ANSWER"),
        (b"oops", "MALFORMED_ANSWER"),
        (b'data: {"a":1}', "MALFORMED_ANSWER"),
        (b"[]", "FOREIGN_ANSWER"),
        (b'"error"', "FOREIGN_ANSWER"),
        (b"{}", "FOREIGN_ANSWER"),
        (b'{"error":null}', "FOREIGN_ANSWER"),
        (b'{"message":{},"x":["error"', "TRUNCATED_ANSWER"),
    ],
)
def test_rubbish_is_named(protocol: Protocol, body: bytes, detail: str) -> None:
    with pytest.raises(AnswerFault) as caught:
        NATIVE[protocol].read_answer(body)
    assert caught.value.detail == detail
    assert caught.value.outcome is Outcome.MODEL


def test_answers_that_hold_nothing() -> None:
    for protocol, body in (
        (OPENAI, b'{"choices":[]}'),
        (ANTHROPIC, b'{"type":"completion","content":[]}'),
        (GEMINI, b'{"candidates":[]}'),
        (RESPONSES, b'{"object":"list"}'),
    ):
        with pytest.raises(AnswerFault, match="FOREIGN_ANSWER"):
            NATIVE[protocol].read_answer(body)


@pytest.mark.parametrize(
    ("protocol", "body", "outcome"),
    [
        (OPENAI, b'{"error":{"message":"x","code":"server_error"}}', Outcome.MODEL),
        (OPENAI, b'{"choices":[],"error":{"message":"x"}}', Outcome.MODEL),
        (OPENAI, b'{"error":"model is loading"}', Outcome.MODEL),
        (OPENAI, b'{"error":{"code":"insufficient_quota","message":"x"}}', Outcome.CREDENTIAL),
        (ANTHROPIC, b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}', Outcome.MODEL),
        (GEMINI, b'[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x"}}]', Outcome.LIMITED),
        (GEMINI, b'{"candidates":[{}],"error":{"code":500}}', Outcome.MODEL),
        (COHERE, b'{"message":{"role":"assistant"},"finish_reason":"ERROR"}', Outcome.MODEL),
        (COHERE, b'{"message":"oops","id":"1"}', Outcome.MODEL),
        (OPENAI, b'{"object":"error","message":"oops","code":500}', Outcome.MODEL),
        (RESPONSES, b'{"object":"response","status":"failed","error":{"code":"server_error"}}', Outcome.MODEL),
        (RESPONSES, b'{"object":"response","error":{"code":"invalid_prompt","message":"m"}}', Outcome.CALLER),
    ],
)
def test_an_error_inside_a_200(protocol: Protocol, body: bytes, outcome: Outcome) -> None:
    with pytest.raises(ProviderError) as caught:
        NATIVE[protocol].read_answer(body)
    assert caught.value.outcome is outcome
    assert caught.value.http_status == 200
    assert isinstance(caught.value, AttemptError)
