from __future__ import annotations

import pytest
from google.protobuf import text_format

from fluxrpc.protocols.capability import CAPABILITIES, missing, requires
from fluxrpc.protocols.gates import ModelCapabilities
from fluxrpc.v1.message_pb2 import MessageRequest

IMAGE = 'image { mime_type: "image/png" data: "x" }'
PDF = 'document { media { mime_type: "application/pdf" data: "x" } }'


@pytest.mark.parametrize(
    ("request_text", "needs"),
    [
        ("", ""),
        ('messages { role: ROLE_USER text: "Hi" }', ""),
        (f"messages {{ role: ROLE_USER parts {{ {IMAGE} }} }}", "vision"),
        ('messages { role: ROLE_USER parts { audio { url: "https://a.test/b.wav" } } }', "audio"),
        ("output_modalities: [MODALITY_TEXT, MODALITY_AUDIO]", "audio"),
        ("output_modalities: MODALITY_TEXT", ""),
        (f"messages {{ role: ROLE_USER parts {{ {PDF} }} }}", "documents"),
        ('messages { role: ROLE_USER parts { document { text: "words" } } }', ""),
        (f"messages {{ parts {{ document {{ parts {{ parts {{ {IMAGE} }} }} }} }} }}", "vision"),
        (f"messages {{ role: ROLE_TOOL parts {{ tool_result {{ parts {{ parts {{ {PDF} }} }} }} }} }}", "documents"),
        ('documents { media { url: "https://a.test/b.pdf" } }', "documents"),
        ('documents { data_json: "{}" }', ""),
        ('tools { function { name: "f" } }', "tools"),
        ("output_format { kind: OUTPUT_KIND_JSON }", ""),
        ('output_format { kind: OUTPUT_KIND_JSON_SCHEMA schema_json: "{}" }', "json_schema"),
        ('output_format { kind: OUTPUT_KIND_ENUM schema_json: "{}" }', "json_schema"),
        ("reasoning { }", ""),
        ("reasoning { mode: REASONING_MODE_OFF }", ""),
        ("reasoning { effort: REASONING_EFFORT_NONE }", ""),
        ("reasoning { budget_tokens: 0 }", ""),
        ("reasoning { budget_tokens: -1 }", ""),
        ("reasoning { budget_tokens: 1024 }", "reasoning"),
        ("reasoning { mode: REASONING_MODE_ADAPTIVE }", "reasoning"),
        ("reasoning { effort: REASONING_EFFORT_LOW }", "reasoning"),
        ('messages { role: ROLE_ASSISTANT text: "{" }', "prefill"),
        ('messages { role: ROLE_ASSISTANT parts { text: "a" } parts { tool_call { id: "c" name: "f" } } }', ""),
        ('messages { role: ROLE_ASSISTANT text: "a" } messages { role: ROLE_USER text: "b" }', ""),
        (f'messages {{ role: ROLE_USER parts {{ {IMAGE} }} }} tools {{ custom {{ name: "f" }} }}', "vision tools"),
    ],
)
def test_what_a_request_needs(request_text: str, needs: str) -> None:
    assert requires(text_format.Parse(request_text, MessageRequest())) == set(needs.split())


def test_only_what_is_known_to_be_missing_is_missing() -> None:
    everything = frozenset(CAPABILITIES)
    assert missing(everything, ModelCapabilities()) == ()
    assert missing(everything, ModelCapabilities(prefill=False, vision=False, tools=True)) == ("vision", "prefill")
    assert missing(frozenset({"tools"}), ModelCapabilities(vision=False)) == ()
    assert set(CAPABILITIES) | {"context_tokens"} == set(ModelCapabilities.__struct_fields__)
