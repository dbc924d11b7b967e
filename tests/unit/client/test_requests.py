"""The short ways to write requests and to read answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc_client import assistant, native, system, text_of, user
from fluxrpc_client.requests import Prompt, build_request
from fluxrpc_client.v1 import (
    PROTOCOL_ANTHROPIC,
    PROTOCOL_GEMINI,
    ROLE_ASSISTANT,
    ROLE_SYSTEM,
    ROLE_USER,
    Choice,
    ExecuteOptions,
    ExecuteRequest,
    ExecuteResponse,
    Header,
    Message,
    MessageRequest,
    MessageResponse,
    NativeRequest,
    NativeResponse,
    Part,
    Reasoning,
)

HELLO = Message(role=ROLE_USER, text="Hello")


def test_each_role_has_its_word() -> None:
    assert [message.role for message in (user("a"), system("a"), assistant("a"))] == [
        ROLE_USER,
        ROLE_SYSTEM,
        ROLE_ASSISTANT,
    ]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Hello", ExecuteRequest(model="m", message=MessageRequest(messages=[HELLO]))),
        ([user("Hello")], ExecuteRequest(model="m", message=MessageRequest(messages=[HELLO]))),
        (MessageRequest(seed=1), ExecuteRequest(model="m", message=MessageRequest(seed=1))),
        (NativeRequest(body=b"{}"), ExecuteRequest(model="m", native=NativeRequest(body=b"{}"))),
    ],
)
def test_each_prompt_becomes_a_request(prompt: Prompt, expected: ExecuteRequest) -> None:
    assert build_request("m", prompt) == expected
    options = ExecuteOptions(max_attempts=2)
    expected.options.CopyFrom(options)
    assert build_request("m", prompt, options) == expected


def test_a_whole_request_stands_alone() -> None:
    request = ExecuteRequest(model="m", native=NativeRequest(body=b"{}"))
    assert build_request(request) is request
    with pytest.raises(TypeError, match="holds its prompt"):
        build_request(request, "Hello")
    with pytest.raises(TypeError, match="a prompt is needed"):
        build_request("m")


def test_a_native_body_is_written_or_passes() -> None:
    body = {"messages": [{"role": "user", "content": "Grüße"}]}
    written = native("anthropic", body, headers={"Anthropic-Beta": "x"})
    assert written.protocol == PROTOCOL_ANTHROPIC
    assert json.loads(written.body) == body
    assert list(written.headers) == [Header(name="anthropic-beta", value="x")]
    assert native("gemini", b'{"a" : 1.0}') == NativeRequest(protocol=PROTOCOL_GEMINI, body=b'{"a" : 1.0}')
    assert native("gemini", '{"a":"ü"}').body == '{"a":"ü"}'.encode()


@pytest.mark.parametrize(
    ("protocol", "body"),
    [("smoke-signals", {}), ("openai", {"temperature": float("nan")}), ("openai", {"a": "\ud800"})],
)
def test_what_cannot_be_said_is_refused(protocol: Any, body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        native(protocol, body)


def test_the_text_of_an_answer() -> None:
    message = MessageResponse(
        choices=[
            Choice(index=0, parts=[Part(reasoning=Reasoning(text="hm")), Part(text="Hel"), Part(text="lo")]),
            Choice(index=1, parts=[Part(text="Other")]),
        ]
    )
    assert text_of(ExecuteResponse(message=message)) == text_of(message) == "Hello"
    assert text_of(message, choice_index=1) == "Other"
    assert text_of(MessageResponse()) == ""
    with pytest.raises(TypeError, match="only typed answers"):
        text_of(ExecuteResponse(native=NativeResponse(body=b"{}")))
