"""Settings of other callers, and the form of their answers."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import Gates
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1.message_pb2 import MessageRequest, ReasoningOptions
from fluxrpc.v1.protocol_pb2 import PROTOCOL_ANTHROPIC, PROTOCOL_OPENAI, Extra
from fluxrpc.v1.usage_pb2 import MODALITY_AUDIO, MODALITY_TEXT
from tests.unit.protocols.anthropic.saying import HI, settings_of, write, write_as_it_is

OPENAI = Protocol.OPENAI


def refusing(*names: str) -> Gates:
    return Gates(refused=frozenset(names))


Row = tuple[MessageRequest, Gates, dict[str, Any], list[str]]

SETTINGS: dict[str, Row] = {
    "nothing": (MessageRequest(), Gates(), {}, []),
    "zero": (MessageRequest(temperature=0, top_p=0, top_k=0), Gates(), {"temperature": 0, "top_p": 0}, []),
    "hot": (MessageRequest(temperature=1.7), Gates(), {"temperature": 1}, ["clamped TEMPERATURE temperature"]),
    "one of two": (
        MessageRequest(temperature=1.7, top_p=0.9),
        Gates(one_of_temperature_and_top_p=True),
        {"temperature": 1},
        ["clamped TEMPERATURE temperature", "dropped TOP_P top_p"],
    ),
    "only top_p": (MessageRequest(top_p=0.9), Gates(one_of_temperature_and_top_p=True), {"top_p": 0.9}, []),
    "refused": (
        MessageRequest(temperature=1, top_p=1, top_k=1),
        refusing("temperature", "top_p", "top_k"),
        {},
        ["dropped TEMPERATURE temperature", "dropped TOP_P top_p", "dropped TOP_K top_k"],
    ),
    "ignored": (MessageRequest(top_k=1), Gates(ignored=frozenset({"top_k"})), {}, ["dropped TOP_K top_k"]),
    "refused while reasoning": (
        MessageRequest(top_k=1),
        Gates(refused_while_reasoning=frozenset({"top_k"})),
        {},
        ["dropped TOP_K top_k"],
    ),
    "reasoning off": (
        MessageRequest(top_k=1, reasoning=ReasoningOptions(mode=msg.REASONING_MODE_OFF)),
        Gates(refused_while_reasoning=frozenset({"top_k"})),
        {"top_k": 1, "thinking": {"type": "disabled"}},
        [],
    ),
    "thinking": (
        MessageRequest(
            temperature=0.5, top_p=0.5, top_k=1, reasoning=ReasoningOptions(mode=msg.REASONING_MODE_ADAPTIVE)
        ),
        Gates(),
        {"thinking": {"type": "adaptive"}},
        ["dropped TEMPERATURE temperature", "dropped TOP_P top_p", "dropped TOP_K top_k"],
    ),
    "thinking as it likes": (
        MessageRequest(temperature=1, top_p=0.97, reasoning=ReasoningOptions(mode=msg.REASONING_MODE_ADAPTIVE)),
        Gates(),
        {"thinking": {"type": "adaptive"}, "temperature": 1, "top_p": 0.97},
        [],
    ),
    "stops": (
        MessageRequest(stop_sequences=["\n", " \t", "END"]),
        Gates(),
        {"stop_sequences": ["END"]},
        ["dropped STOP_SEQUENCES stop_sequences[0]", "dropped STOP_SEQUENCES stop_sequences[1]"],
    ),
    "blank stops": (
        MessageRequest(stop_sequences=["\n"]),
        Gates(),
        {},
        ["dropped STOP_SEQUENCES stop_sequences[0]"],
    ),
    "unsayable": (
        MessageRequest(
            choice_count=2,
            seed=0,
            presence_penalty=0.1,
            frequency_penalty=-1,
            logprobs=True,
            top_logprobs=3,
            store=True,
            speech=msg.SpeechOptions(voice="v"),
            verbosity=msg.VERBOSITY_LOW,
            output_modalities=[MODALITY_TEXT, MODALITY_AUDIO],
            metadata={"a": "b"},
            citation_mode=msg.CITATION_MODE_FAST,
            max_tool_calls=2,
        ),
        Gates(),
        {},
        [
            "dropped CHOICE_COUNT choice_count",
            "dropped SEED seed",
            "dropped PRESENCE_PENALTY presence_penalty",
            "dropped FREQUENCY_PENALTY frequency_penalty",
            "dropped LOGPROBS logprobs",
            "dropped TOP_LOGPROBS top_logprobs",
            "dropped STORE store",
            "dropped SPEECH speech",
            "dropped VERBOSITY verbosity",
            "dropped OUTPUT_MODALITIES output_modalities",
            "dropped METADATA metadata",
            "dropped CITATION_MODE citation_mode",
            "dropped MAX_TOOL_CALLS max_tool_calls",
        ],
    ),
    "what asks for nothing": (
        MessageRequest(
            choice_count=1,
            presence_penalty=0,
            logprobs=False,
            store=False,
            output_modalities=[MODALITY_TEXT],
            citation_mode=msg.CITATION_MODE_ON,
        ),
        Gates(),
        {},
        [],
    ),
    "user": (MessageRequest(end_user_id="u"), Gates(), {"metadata": {"user_id": "u"}}, []),
    "tier": (MessageRequest(service_tier=msg.SERVICE_TIER_STANDARD), Gates(), {"service_tier": "standard_only"}, []),
    "priority": (
        MessageRequest(service_tier=msg.SERVICE_TIER_PRIORITY),
        Gates(),
        {"service_tier": "auto"},
        ["approximated SERVICE_TIER service_tier"],
    ),
    "flex": (
        MessageRequest(service_tier=msg.SERVICE_TIER_FLEX),
        Gates(),
        {},
        ["dropped SERVICE_TIER service_tier"],
    ),
    "cache": (
        MessageRequest(cache=msg.CacheOptions(automatic=True, ttl=Duration(seconds=300), key="k")),
        Gates(),
        {"cache_control": {"type": "ephemeral", "ttl": "5m"}},
        ["dropped CACHE_OPTIONS cache.key"],
    ),
    "cache by hand": (
        MessageRequest(cache=msg.CacheOptions(automatic=False, ttl=Duration(seconds=300))),
        Gates(),
        {},
        ["dropped CACHE_OPTIONS cache.ttl"],
    ),
    "cache by name": (
        MessageRequest(cache=msg.CacheOptions(key="k")),
        Gates(),
        {},
        ["dropped CACHE_OPTIONS cache.key"],
    ),
    "text": (MessageRequest(output_format=msg.OutputFormat(kind=msg.OUTPUT_KIND_TEXT)), Gates(), {}, []),
    "long cache": (
        MessageRequest(cache=msg.CacheOptions(automatic=True, ttl=Duration(seconds=1800))),
        Gates(),
        {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ["approximated CACHE_OPTIONS cache.ttl"],
    ),
    "state": (
        MessageRequest(provider_state=msg.ProviderState(container_id="c", conversation_id="v")),
        Gates(),
        {},
        ["dropped PROVIDER_STATE provider_state.conversation_id", "dropped PROVIDER_STATE provider_state.container_id"],
    ),
    "extras": (
        MessageRequest(
            extras=[
                Extra(protocol=PROTOCOL_ANTHROPIC, key="metadata.new", value_json="1"),
                Extra(protocol=PROTOCOL_OPENAI, key="logit_bias", value_json='{"1":1}'),
            ]
        ),
        Gates(),
        {"metadata": {"new": 1}},
        ["dropped EXTRA_FIELD logit_bias"],
    ),
}


@pytest.mark.parametrize(("request_", "gates", "expected", "notes"), SETTINGS.values(), ids=SETTINGS.keys())
def test_settings(request_: MessageRequest, gates: Gates, expected: dict[str, Any], notes: list[str]) -> None:
    written = write(request_, caller=OPENAI, gates=gates)
    assert settings_of(written) == expected
    assert written.notes == notes


def test_stops_that_are_refused_are_cut_by_us() -> None:
    written = write(MessageRequest(stop_sequences=["a", "b"]), gates=refusing("stop_sequences"))
    assert settings_of(written) == {}
    assert written.context.stops == ("a", "b")
    assert written.notes == ["emulated STOP_SEQUENCES stop_sequences"]


def test_the_limit_is_demanded() -> None:
    written = write_as_it_is(MessageRequest(messages=[HI]), gates=Gates(default_max_output_tokens=500), stream=True)
    assert written.body == {
        "model": "claude",
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
    }
    assert list(written.body)[:3] == ["model", "max_tokens", "messages"]
    assert written.notes == ["injected MAX_OUTPUT_TOKENS max_output_tokens"]


# --- the form of the answer ---


def output(kind: str, **fields: Any) -> MessageRequest:
    return MessageRequest(output_format=msg.OutputFormat(kind=msg.OutputKind.Value(f"OUTPUT_KIND_{kind}"), **fields))


def test_json_without_a_schema_is_asked_for() -> None:
    written = write(output("JSON"))
    assert settings_of(written) == {"system": [{"type": "text", "text": JSON_SENTENCE}]}
    assert written.notes == ["emulated OUTPUT_JSON output_format"]


JSON_SENTENCE = "Answer with one bare JSON object and nothing else: no words around it, no Markdown fence."


def test_an_answer_of_a_schema() -> None:
    schema = (
        '{"type":"object","properties":{"age":{"type":"integer","minimum":0,"maximum":150}},"required":["age"],'
        '"additionalProperties":false}'
    )
    written = write(output("JSON_SCHEMA", name="p", strict=True, schema_json=schema))
    assert settings_of(written)["output_config"]["format"] == {
        "type": "json_schema",
        "schema": {
            "type": "object",
            "properties": {"age": {"type": "integer", "description": "minimum: 0, maximum: 150"}},
            "required": ["age"],
            "additionalProperties": False,
        },
    }
    assert written.notes[0] == "dropped OUTPUT_SCHEMA_NAME output_format.name"
    assert all("OUTPUT_SCHEMA_KEYWORDS" in note for note in written.notes[1:])


def test_a_loose_schema_and_its_description() -> None:
    written = write(
        output(
            "JSON_SCHEMA",
            description="d",
            strict=False,
            schema_json='{"type":"object","properties":{},"additionalProperties":false}',
        )
    )
    assert written.notes == [
        "dropped OUTPUT_SCHEMA_NAME output_format.description",
        "approximated OUTPUT_SCHEMA_STRICT output_format.strict",
    ]


def test_one_word_is_wrapped() -> None:
    written = write(output("ENUM", schema_json='{"type":"string","enum":["a","b"]}'))
    assert written.body["output_config"]["format"]["schema"] == {
        "type": "object",
        "properties": {"value": {"type": "string", "enum": ["a", "b"]}},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert written.context.unwrap_key == "value"
    assert written.notes == ["emulated OUTPUT_ENUM output_format"]
