from __future__ import annotations

import pytest

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.base import Protocol, RequestHead, WireOptions
from fluxrpc.protocols.registry import NATIVE

NAMED = [protocol for protocol in Protocol if protocol is not Protocol.GEMINI]


@pytest.mark.parametrize("protocol", NAMED)
def test_the_model_is_read(protocol: Protocol) -> None:
    read = NATIVE[protocol].read_head
    assert read(b'{"model":"a/b\\n\\u00e9"}').model == "a/b\né"
    assert read(b"{}").model is None


def test_gemini_bodies_name_no_model() -> None:
    assert NATIVE[Protocol.GEMINI].read_head(b'{"model":"x","contents":[]}').model is None


@pytest.mark.parametrize("protocol", NAMED)
@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"model":7}', "model"),
        (b'{"model":null}', "model"),
        (b'{"model":"a","model":"a"}', "model"),
        (b'{"model":"a","x":1,"mod\\u0065l":"b"}', "model"),
        (b'{"stream":true, "stream":false}', "stream"),
    ],
)
def test_a_field_that_cannot_be_replaced(protocol: Protocol, body: bytes, path: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        NATIVE[protocol].read_head(body)
    assert caught.value.violations[0].path == path


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"stream_options":1}', "stream_options"),
        (b'{"stream_options":{},"stream_options":{}}', "stream_options"),
        (b'{"stream_options":{"include_usage":1,"include_usage":2}}', "stream_options.include_usage"),
    ],
)
def test_bad_stream_options(body: bytes, path: str) -> None:
    codec = NATIVE[Protocol.OPENAI]
    with pytest.raises(InvalidRequest) as caught:
        codec.write_wire(codec.read_head(body), body, model="m", stream=True, options=WireOptions())
    assert caught.value.violations[0].path == path


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ("null", False),
        ("{}", False),
        ('{"include_usage":null}', False),
        ('{"include_usage":false}', False),
        ('{"include_usage":true}', True),
    ],
)
def test_whether_the_caller_asked_for_usage(options: str, asked: bool) -> None:
    head = NATIVE[Protocol.OPENAI].read_head(f'{{"stream_options":{options}}}'.encode())
    assert head.includes_usage is asked


@pytest.mark.parametrize(
    ("protocol", "body", "bound"),
    [
        (Protocol.OPENAI, '{"messages":[{"content":[{"type":"file","file":{"file_id":"file-1"}}]}]}', True),
        (Protocol.OPENAI, '{"messages":[{"content":"my \\"file_id\\""}]}', False),
        (Protocol.OPENAI, '{"messages":[],"tools":[{"function":{"parameters":{"file_id":{}}}}]}', False),
        (Protocol.OPENAI, '{"metadata":{"file_id":"x"}}', False),
        (Protocol.OPENAI, '{"messages":[{"file_id":"","x":1e999}]}', True),
        (Protocol.ANTHROPIC, '{"messages":[{"content":[{"source":{"type":"file","file_id":"f"}}]}]}', True),
        (Protocol.ANTHROPIC, '{"messages":[{"content":[{"type":"thinking","signature":"s"}]}]}', False),
        (Protocol.ANTHROPIC, '{"messages":[{"content":[{"type":"tool_use","input":{"a":{"file_id":"f"}}}]}]}', False),
        (Protocol.ANTHROPIC, '{"container":"c1"}', True),
        (Protocol.ANTHROPIC, '{"container":""}', False),
        (Protocol.ANTHROPIC, '{"container":null}', False),
        (Protocol.ANTHROPIC, '{"container":7}', False),
        (Protocol.ANTHROPIC, '{"container":{"id":"c1"}}', True),
        (Protocol.ANTHROPIC, '{"container":{"skills":[]}}', False),
        (Protocol.ANTHROPIC, '{"fallback_credit_token":"t"}', True),
        (Protocol.GEMINI, '{"cachedContent":"cachedContents/1"}', True),
        (Protocol.GEMINI, '{"cached_content":"cachedContents/1"}', True),
        (Protocol.GEMINI, '{"continuationToken":"x"}', True),
        (Protocol.GEMINI, '{"contents":[{"parts":[{"fileData":{"fileUri":"https://x/files/1"}}]}]}', True),
        (Protocol.GEMINI, '{"contents":[{"parts":[{"functionCall":{"args":{"fileUri":"x"}}}]}]}', False),
        (Protocol.GEMINI, '{"contents":[]}', False),
        (Protocol.COHERE, '{"messages":[]}', False),
        (Protocol.RESPONSES, '{"previous_response_id":"resp_1"}', True),
        (Protocol.RESPONSES, '{"previous_response_id":null}', False),
        (Protocol.RESPONSES, '{"conversation":{"id":"c"}}', True),
        (Protocol.RESPONSES, '{"prompt":{"id":"p"}}', True),
        (Protocol.RESPONSES, '{"input":[{"type":"item_reference","id":"x"}]}', True),
        (Protocol.RESPONSES, '{"input":[{"type":"reasoning","encrypted_content":"x"}]}', True),
        (Protocol.RESPONSES, '{"input":[{"type":"reasoning","encrypted_content":null}]}', False),
        (Protocol.RESPONSES, '{"input":"item_reference"}', False),
        (Protocol.RESPONSES, '{"input":"x","tools":[{"type":"code_interpreter","container":"c"}]}', True),
        (Protocol.RESPONSES, '{"input":"x","tools":[{"type":"file_search","vector_store_ids":["v"]}]}', True),
    ],
)
def test_whether_a_body_is_bound_to_an_account(protocol: Protocol, body: str, bound: bool) -> None:
    assert NATIVE[protocol].read_head(body.encode()).holds_state is bound


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-x", "/v1beta/models/gemini-x:generateContent"),
        ("models/gemini-x", "/v1beta/models/gemini-x:generateContent"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine:generateContent"),
        ("a/../b?x#y\n", "/v1beta/models/a%2F..%2Fb%3Fx%23y%0A:generateContent"),
    ],
)
def test_a_gemini_model_cannot_leave_its_place_in_the_path(model: str, path: str) -> None:
    codec = NATIVE[Protocol.GEMINI]
    wire = codec.write_wire(codec.read_head(b"{}"), b"{}", model=model, stream=False, options=WireOptions())
    assert wire.path == path


@pytest.mark.parametrize("model", ["", "..", "models/", "models/.."])
def test_a_gemini_model_that_is_no_name(model: str) -> None:
    codec = NATIVE[Protocol.GEMINI]
    with pytest.raises(InvalidRequest):
        codec.write_wire(codec.read_head(b"{}"), b"{}", model=model, stream=False, options=WireOptions())


def test_a_head_of_another_codec_is_a_bug() -> None:
    with pytest.raises(TypeError):
        NATIVE[Protocol.OPENAI].write_wire(
            RequestHead(model=None), b"{}", model="m", stream=False, options=WireOptions()
        )


MANY = 11_000


@pytest.mark.parametrize("protocol", list(Protocol))
@pytest.mark.parametrize(
    "fields",
    [
        b",".join(b'"%x":0' % at for at in range(MANY)),
        b", ".join([b'"a": 0'] * MANY),
        b",".join([b'"a":{"b":0}'] * MANY),
    ],
    ids=["others", "the same", "objects"],
)
def test_thousands_of_fields_are_refused_before_they_cost_anything(protocol: Protocol, fields: bytes) -> None:
    with pytest.raises(InvalidRequest) as caught:
        NATIVE[protocol].read_head(b'{"model":"m",%s}' % fields)
    assert "more than 1024 fields" in str(caught.value)


def test_thousands_of_fields_of_an_option_are_refused() -> None:
    options = b",".join([b'"a":0'] * MANY)
    with pytest.raises(InvalidRequest) as caught:
        NATIVE[Protocol.OPENAI].read_head(b'{"model":"m","x":[{%s}],"stream_options":{%s}}' % (options, options))
    assert caught.value.violations[0].path == "stream_options"


@pytest.mark.parametrize("protocol", NAMED)
def test_a_long_conversation_has_few_fields(protocol: Protocol) -> None:
    messages = b",".join([b'{"role":"user","content":"a: \\"b\\": {"}'] * MANY)
    key = b"\\\\" * MANY
    body = b'{"model":"m","messages":[%s],"%s":1, "stream":true}' % (messages, key)
    codec = NATIVE[protocol]
    wire = codec.write_wire(codec.read_head(body), body, model="n", stream=False, options=WireOptions())
    assert wire.body == body.replace(b'"m"', b'"n"').replace(b"true", b"false")


def test_state_in_a_body_of_too_many_objects_is_assumed() -> None:
    text = b'{"model":"m","messages":[{"content":"\\"file_id\\""},%s{}]}'
    assert not NATIVE[Protocol.OPENAI].read_head(text % b"").holds_state
    assert NATIVE[Protocol.OPENAI].read_head(text % (b'"file_id",' + b"{}," * 200_000)).holds_state
