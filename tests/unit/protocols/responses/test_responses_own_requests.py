"""A request of OpenAI Responses that is read and written again says the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from fluxrpc.protocols.envelope import seal
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.notes import Notes, Places
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_SIGNATURE, PROTOCOL_ANTHROPIC, OpaqueState
from tests.unit.protocols.responses.responses_bodies import REQUESTS
from tests.unit.protocols.responses.responses_ways import RESPONSES, context_of, read, write


@settings(max_examples=80)
@given(REQUESTS)
def test_own_request_is_written_as_it_was_read(body: dict[str, Any]) -> None:
    request = read(body)
    assert write(request, context_of(request)) == (body, [])


_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
_MARK = {"mode": "explicit", "ttl": "12h"}
_CONTENT = [
    {"type": "input_text", "text": "Q", "prompt_cache_breakpoint": _MARK},
    {"type": "input_text", "text": "Q", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "9h"}},
    {"type": "input_text", "text": "Q", "prompt_cache_breakpoint": {"mode": "explicit"}},
    {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "low"},
    {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
    {"type": "input_image", "file_id": "file-1", "detail": "huge"},
    {"type": "input_image"},
    {"type": "input_file", "file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"},
    {"type": "input_file", "file_data": "QUJD", "filename": ""},
    {"type": "input_file", "file_url": "https://x.test/a.pdf", "detail": "high"},
    {"type": "input_file", "file_id": "file-2"},
    {"type": "input_novelty", "data": [1, {"a": None}]},
    {"odd": 1},
]
_SAID = [
    {"type": "output_text", "text": "A", "annotations": []},
    {"type": "output_text", "text": "A", "logprobs": []},
    {
        "type": "output_text",
        "text": "Answer",
        "annotations": [
            {"type": "url_citation", "start_index": 0, "end_index": 3, "url": "https://x.test", "title": "X"},
            {"type": "file_citation", "file_id": "f", "filename": "a.txt", "index": 3},
            {"type": "file_path", "file_id": "f", "index": 4},
            {
                "type": "container_file_citation",
                "start_index": 1,
                "end_index": 2,
                "file_id": "f",
                "filename": "b",
                "container_id": "c",
            },
        ],
        "logprobs": [
            {
                "token": "A",
                "bytes": [65],
                "logprob": -0.5,
                "top_logprobs": [{"token": "", "bytes": [240, 159], "logprob": -0.7}],
            }
        ],
    },
    {"type": "refusal", "refusal": "No."},
    {"type": "input_text", "text": "A"},
    {"type": "output_novelty", "data": 1},
]
_ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": _CONTENT},
    {"type": "message", "role": "system", "content": "S", "id": "msg_0", "status": "completed"},
    {"role": "developer", "content": []},
    {"role": "assistant", "content": "A", "phase": "commentary"},
    {"role": "assistant", "content": "B", "type": "message", "phase": "musing"},
    {"role": "assistant", "content": _SAID},
    {"role": "assistant", "content": [], "phase": "final_answer", "future": 1},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "incomplete", "content": _SAID, "future": None},
    {"type": "message", "id": "msg_2", "role": "assistant", "content": "C"},
    {
        "type": "reasoning",
        "id": "rs_1",
        "encrypted_content": "QUJD",
        "summary": [{"type": "summary_text", "text": "s"}],
    },
    {
        "type": "reasoning",
        "id": "rs_2",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "t"}],
        "encrypted_content": None,
        "status": "completed",
    },
    {
        "type": "reasoning",
        "id": "rs_3",
        "summary": [{"type": "novel", "text": "s"}],
        "content": [{"type": "reasoning_text", "text": "t"}, {"type": "reasoning_text", "text": "u", "more": 1}],
    },
    {
        "type": "reasoning",
        "id": "rs_4",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "t"}, {"type": "reasoning_text", "text": "u"}],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "", "status": "completed"},
    {"type": "custom_tool_call", "call_id": "c3", "name": "g", "input": "text"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "file_search_call", "id": "fs_1", "queries": ["a"], "results": [{"file_id": "f"}]},
    {"type": "code_interpreter_call", "id": "ci_1", "code": None, "container_id": "c", "outputs": None},
    {"type": "mcp_call", "id": "mcp_1", "name": "m", "arguments": "{}", "server_label": "l", "output": "done"},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "QUJD", "output_format": "webp"},
    {"type": "image_generation_call", "id": "ig_2", "result": None},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "QUJD"},
    {"type": "compaction", "id": "cmp_2"},
    {"type": "computer_call", "id": "cu_1", "action": {}},
    {"type": "item_reference", "id": "msg_9"},
    {"type": "function_call_output", "call_id": "c1", "output": "42", "id": "fco_1", "status": "completed"},
    {"type": "function_call_output", "call_id": "c2", "name": "f", "output": _CONTENT},
    {"type": "custom_tool_call_output", "call_id": "c3", "output": "x"},
    {"type": "computer_call_output", "call_id": "c5", "output": {}},
    {"type": "mcp_approval_response", "approve": True},
]
_TOOLS = [
    {
        "type": "function",
        "name": "f",
        "description": "d",
        "parameters": _SCHEMA,
        "strict": False,
        "defer_loading": True,
        "allowed_callers": ["direct"],
        "output_schema": _SCHEMA,
        "async": True,
    },
    {"type": "function", "name": "f2", "description": "", "parameters": None, "strict": None, "allowed_callers": []},
    {"type": "custom", "name": "g", "format": {"type": "grammar", "syntax": "lark", "definition": "start: A"}},
    {"type": "custom", "name": "h", "format": {"type": "text"}},
    {"type": "custom", "name": "i", "description": "d"},
    {
        "type": "mcp",
        "server_label": "l",
        "server_url": "https://m.test",
        "authorization": "t",
        "allowed_tools": ["a"],
        "require_approval": "never",
    },
    {"type": "mcp", "server_label": "n", "connector_id": "x", "allowed_tools": {"read_only": True}},
    {
        "type": "web_search",
        "filters": {"allowed_domains": ["x.test"]},
        "search_context_size": "low",
        "user_location": {"type": "approximate", "city": "Oslo", "country": "NO"},
        "external_web_access": False,
    },
    {"type": "web_search_preview", "filters": {}},
    {"type": "web_search_2025_08_26"},
    {"type": "file_search", "vector_store_ids": ["v"]},
    {"type": "shell"},
    {"type": "novel_tool", "config": 1},
]
_BODIES: list[dict[str, Any]] = [
    {"input": _ITEMS, "tools": _TOOLS, "instructions": "Be kind."},
    {"input": "Hi", "instructions": "", "tools": [], "metadata": {}, "text": {}, "reasoning": {}, "include": []},
    {"input": []},
    {"previous_response_id": "resp_1", "conversation": "conv_1"},
    {"input": "Hi", "conversation": {"id": "conv_1"}, "previous_response_id": "", "prompt_cache_key": ""},
    {"input": "Hi", "conversation": {"odd": 1}, "tool_choice": "required", "user": "u"},
    {"input": "Hi", "safety_identifier": "s", "user": "u", "metadata": {"a": "b", "c.d": None}, "service_tier": "flex"},
    {
        "input": "Hi",
        "max_output_tokens": 99,
        "max_tool_calls": 2,
        "temperature": 0,
        "top_p": 0.5,
        "parallel_tool_calls": False,
        "store": True,
        "background": None,
        "truncation": "auto",
        "top_logprobs": 3,
        "include": ["message.output_text.logprobs", "web_search_call.results", "reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "concise", "context": "auto"},
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "o", "schema": _SCHEMA, "strict": True}},
        "prompt_cache_key": "k",
        "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
    },
    {
        "input": "Hi",
        "reasoning": {"effort": None, "summary": "epic"},
        "text": {"verbosity": "vast", "format": {"type": "xml"}},
        "prompt_cache_options": {"mode": "odd", "ttl": "9d"},
        "service_tier": "glacial",
        "tool_choice": "perhaps",
    },
    {"input": "Hi", "text": {"format": {"type": "json_object"}}, "prompt_cache_options": {"prewarm": True}},
    {"input": "Hi", "text": {"format": {"type": "json_schema", "name": "", "description": "d", "schema": _SCHEMA}}},
    *(
        {"input": "Hi", "tools": _TOOLS, "tool_choice": choice}
        for choice in (
            {"type": "function", "name": "f"},
            {"type": "mcp", "server_label": "l", "name": "a"},
            {"type": "web_search_preview"},
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}, {"type": "shell"}]},
        )
    ),
]


@pytest.mark.parametrize("body", _BODIES, ids=lambda body: ",".join(body)[:40])
def test_every_field_and_item_is_kept(body: dict[str, Any]) -> None:
    request = read({"model": "m"} | body)
    assert write(request, context_of(request)) == ({"model": "m"} | body, [])


def test_model_and_stream_switch_are_told_and_written_as_the_call_wants_them() -> None:
    body = {"model": "m", "input": "Hi", "stream": True, "stream_options": {"include_obfuscation": True}}
    found = RESPONSES.read_request(json.dumps(body).encode())
    assert (found.model, found.stream) == ("m", True)
    request = found.message
    assert write(request, context_of(request, stream=True))[0] == body
    assert write(request, context_of(request))[0] == {"model": "m", "input": "Hi"}


def test_spelling_of_numbers_and_keys_survives_where_text_is_carried() -> None:
    schema = b'{"maximum":9007199254740993.0,"a":1,"a":2}'
    text = b'{"input":"Hi","tools":[{"type":"function","name":"f","parameters":%b}]}' % schema
    request = RESPONSES.read_request(text).message
    assert request.tools[0].function.parameters_json == schema.decode()
    wire = RESPONSES.write_request(request, context_of(request), Notes({}))
    assert b'"parameters":%b' % schema in wire.body


def test_items_of_the_model_and_results_are_gathered() -> None:
    request = read({"input": _ITEMS})
    assert [pb.Role.Name(message.role) for message in request.messages] == [
        "ROLE_USER",
        "ROLE_SYSTEM",
        "ROLE_DEVELOPER",
        "ROLE_ASSISTANT",
        "ROLE_TOOL",
    ]


def test_places_tell_where_things_stood() -> None:
    places: Places = {}
    body = {
        "instructions": "Be kind.",
        "tools": [{"type": "shell"}],
        "input": [
            {"role": "user", "content": "Q"},
            {"role": "user", "content": [{"type": "input_text", "text": "Q"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {
                "role": "assistant",
                "content": [{"type": "output_text", "text": "A"}, {"type": "refusal"}],
            },
            {"type": "function_call_output", "call_id": "c", "output": ""},
        ],
    }
    RESPONSES.read_request(json.dumps(body).encode(), places=places)
    assert places == {
        "messages[0]": "instructions",
        "messages[0].text": "instructions",
        "messages[1]": "input[0]",
        "messages[1].text": "input[0].content",
        "messages[2]": "input[1]",
        "messages[2].parts[0]": "input[1].content[0]",
        "messages[3]": "input[2]",
        "messages[3].parts[0]": "input[2]",
        "messages[3].parts[1]": "input[3].content[0]",
        "messages[3].parts[2]": "input[3].content[1]",
        "messages[4]": "input[4]",
        "messages[4].parts[0]": "input[4]",
        "tools[0]": "tools[0]",
    }
    RESPONSES.read_request(b'{"input":"Hi"}', places=places)
    assert places["messages[0].text"] == "input"


_FAULTS = [
    ({"input": 1}, "input", "a string or a list is expected"),
    ({"input": [1]}, "input[0]", "an object is expected"),
    ({"input": [{}]}, "input[0].type", "a type is expected"),
    ({"input": [{"type": 1}]}, "input[0].type", "a string is expected"),
    ({"input": [{"role": "critic"}]}, "input[0].role", "user, assistant, system or developer is expected"),
    ({"input": [{"type": "message"}]}, "input[0].role", "user, assistant, system or developer is expected"),
    ({"input": [{"role": "user", "content": 1}]}, "input[0].content", "a list is expected"),
    ({"max_output_tokens": "9"}, "max_output_tokens", "a whole number is expected"),
    ({"top_logprobs": -1}, "top_logprobs", "a whole number from 0 to 4294967295 is expected"),
    ({"max_output_tokens": 2**63}, "max_output_tokens", f"a whole number from 0 to {2**63 - 1} is expected"),
    ({"tools": [{"type": "function", "parameters": "x"}]}, "tools[0].parameters", "an object is expected"),
    ({"tool_choice": 1}, "tool_choice", "an object is expected"),
    ({"tool_choice": {}}, "tool_choice", "a word or an object with a type is expected"),
    ({"text": {"format": {"type": "json_schema"}}}, "text.format.schema", "an object is expected"),
    ({"metadata": {"a": 1}}, "metadata.a", "a string is expected"),
    ({"metadata": 1}, "metadata", "an object is expected"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:x"}]}]},
        "input[0].content[0].image_url",
        "",
    ),
]


@pytest.mark.parametrize(("body", "path", "message"), _FAULTS, ids=lambda value: str(value)[:40])
def test_wrong_types_are_named_with_their_path(body: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(JsonFault) as caught:
        read(body)
    assert caught.value.path == path
    assert message in str(caught.value)


def test_a_result_without_output_is_an_empty_one() -> None:
    request = read({"input": [{"type": "function_call_output", "call_id": "c"}]})
    assert request.messages[0].parts[0].tool_result.WhichOneof("output") is None


def test_half_of_a_pair_in_a_type_is_a_fault() -> None:
    with pytest.raises(JsonFault):
        RESPONSES.read_request(b'{"input":[{"type":"\\ud800"}]}')


def test_arguments_that_are_an_object_are_taken_as_their_text() -> None:
    request = read({"input": [{"type": "function_call", "id": "fc_1", "name": "f", "arguments": {"a": 1}}]})
    call = request.messages[0].parts[0].tool_call
    assert (call.id, call.arguments_json) == ("fc_1", '{"a": 1}')


def test_state_of_another_provider_comes_out_of_its_envelope() -> None:
    state = OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_ANTHROPIC, service="s", model="c", value=b"sig")
    thought = {"type": "reasoning", "id": "rs_gw_0", "summary": [{"type": "summary_text", "text": "hm"}]}
    carried = {"type": "reasoning", "id": "rs_gw_sig_2", "summary": [], "encrypted_content": seal(state)}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    request = read({"input": [thought | {"encrypted_content": seal(state)}, call, carried]})
    first, second = request.messages[0].parts
    assert (first.reasoning.text, list(first.reasoning.summaries), list(first.opaque)) == ("hm", [], [state])
    assert second.tool_call.id == "c"
    assert list(second.opaque) == [state]
    alone = read({"input": [carried]}).messages[0].parts
    assert alone[0].HasField("reasoning")
