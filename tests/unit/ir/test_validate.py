from __future__ import annotations

import pytest
from google.protobuf.duration_pb2 import Duration

from fluxrpc.errors import FieldViolation
from fluxrpc.ir import assistant, system, tool_result, user, validate_request
from fluxrpc.v1 import (
    OUTPUT_KIND_ENUM,
    OUTPUT_KIND_JSON,
    OUTPUT_KIND_JSON_SCHEMA,
    PROTOCOL_ANTHROPIC,
    PROTOCOL_OPENAI,
    ROLE_DEVELOPER,
    ROLE_TOOL,
    ROLE_USER,
    SERVER_TOOL_KIND_WEB_SEARCH,
    TOOL_CHOICE_MODE_NONE,
    TOOL_CHOICE_MODE_REQUIRED,
    CacheBreakpoint,
    CacheOptions,
    Citation,
    CitationSource,
    CustomTool,
    Document,
    Extra,
    FunctionTool,
    McpServer,
    Media,
    Message,
    MessageRequest,
    OpaqueState,
    OutputFormat,
    Part,
    Parts,
    ProviderState,
    ProviderTool,
    RawPart,
    Reasoning,
    ReasoningOptions,
    ServerTool,
    ServerToolCall,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)

EXTRA = Extra(protocol=PROTOCOL_OPENAI, key="k", value_json="1")
FUNCTION = FunctionTool(name="f", parameters_json='{"type":"object"}', strict=True)
IMAGE = Part(image=Media(mime_type="image/png", data=b"x"))

FULL = MessageRequest(
    messages=[
        system("Be brief."),
        Message(role=ROLE_DEVELOPER, parts=[Part(text="In Dutch.", cache_breakpoint=CacheBreakpoint())]),
        user([Part(text="See"), IMAGE, Part(document=Document(parts=Parts(parts=[Part(text="a")]), source="u"))]),
        assistant(
            [
                Part(reasoning=Reasoning(text="hm"), opaque=[OpaqueState(origin=PROTOCOL_ANTHROPIC, value=b"s")]),
                Part(text="Hi", citations=[Citation(start=0, end=2, sources=[CitationSource(url="https://x.test")])]),
                Part(tool_call=ToolCall(id="c1", name="f", arguments_json='{"broken":')),
                Part(server_tool_call=ServerToolCall(id="s1", input_json='{"q":"a"}')),
            ]
        ),
        tool_result("c1", [Part(text="done"), IMAGE]),
        user(""),
    ],
    max_output_tokens=0,
    temperature=0,
    top_p=1,
    top_k=0,
    presence_penalty=-2,
    frequency_penalty=2,
    choice_count=1,
    logprobs=True,
    top_logprobs=20,
    stop_sequences=["x"],
    tools=[
        Tool(function=FUNCTION, cache_breakpoint=CacheBreakpoint(ttl=Duration(seconds=300))),
        Tool(custom=CustomTool(name="c")),
        Tool(server=ServerTool(kind=SERVER_TOOL_KIND_WEB_SEARCH, kind_raw="web_search", max_uses=1)),
        Tool(provider=ProviderTool(type="bash_20250124", name="bash")),
        Tool(mcp=McpServer(name="m", url="https://x.test")),
        Tool(mcp=McpServer(name="connected"), extras=[EXTRA]),
        Tool(extras=[EXTRA], function=FunctionTool(name="g")),
    ],
    tool_choice=ToolChoice(mode=TOOL_CHOICE_MODE_REQUIRED, names=["f", "c", "web_search", "bash", "m"]),
    reasoning=ReasoningOptions(budget_tokens=-1),
    output_format=OutputFormat(kind=OUTPUT_KIND_JSON_SCHEMA, schema_json="{}"),
    documents=[Document(text="a"), Document(data_json='{"a":1}', id="d")],
    metadata={"team": "x"},
    extras=[EXTRA],
)


def places(request: MessageRequest) -> list[str]:
    return [violation.path for violation in validate_request(request)]


def with_part(part: Part, *, role: str = "user") -> MessageRequest:
    return MessageRequest(messages=[{"user": user, "assistant": assistant}[role]([part])])


def with_hi(**fields: object) -> MessageRequest:
    return MessageRequest(messages=[user("Hi")], **fields)  # type: ignore[arg-type]  # the tables below are typed


def test_a_request_that_uses_everything_is_well_formed() -> None:
    assert validate_request(FULL) == []


def test_the_smallest_request_is_well_formed() -> None:
    assert validate_request(with_hi()) == []


def test_violations_carry_path_and_reason() -> None:
    request = with_hi(temperature=2.5)
    assert validate_request(request) == [FieldViolation(path="temperature", message="must be from 0 to 2, not 2.5")]


def test_all_faults_are_told_at_once() -> None:
    request = MessageRequest(messages=[Message(text="a"), user([Part()])], top_p=2)
    assert places(request) == ["top_p", "messages[0].role", "messages[1].parts[0]"]


@pytest.mark.parametrize("state", ["previous_response_id", "conversation_id"])
def test_messages_may_be_left_out_where_the_provider_holds_them(state: str) -> None:
    assert places(MessageRequest()) == ["messages"]
    assert places(MessageRequest(provider_state=ProviderState(cached_content="c"))) == ["messages"]
    assert places(MessageRequest(provider_state=ProviderState(**{state: "r"}))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_output_tokens", -1),
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_p", 1.01),
        ("top_k", -1),
        ("max_tool_calls", 0),
        ("choice_count", 0),
        ("presence_penalty", -2.5),
        ("frequency_penalty", 2.5),
        ("service_tier", 99),
    ],
)
def test_numbers_out_of_range(name: str, value: float) -> None:
    assert places(with_hi(**{name: value})) == [name]


def test_top_logprobs_need_logprobs() -> None:
    assert places(with_hi(top_logprobs=1)) == ["top_logprobs"]
    assert places(with_hi(top_logprobs=21, logprobs=True)) == ["top_logprobs"]


def test_enum_values_of_repeated_fields_are_checked() -> None:
    assert places(with_hi(output_modalities=[2, 77])) == ["output_modalities[1]"]


def test_durations_are_positive() -> None:
    assert places(with_hi(cache=CacheOptions(ttl=Duration()))) == ["cache.ttl"]
    assert places(with_hi(cache=CacheOptions(ttl=Duration(seconds=-1)))) == ["cache.ttl"]


def test_empty_stop_sequences_are_refused() -> None:
    assert places(with_hi(stop_sequences=["a", ""])) == ["stop_sequences[1]"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message(role=ROLE_USER, text="a", parts=[Part(text="b")]), ["parts"]),
        (Message(role=ROLE_TOOL, text="a"), ["text"]),
        (Message(role=99, text="a"), ["role"]),  # type: ignore[arg-type]  # a value of a later version
        (Message(role=ROLE_TOOL, parts=[Part(text="a")]), ["parts[0].text"]),
        (user([Part(tool_result=ToolResult(call_id="c"))]), ["parts[0].tool_result"]),
        (user([Part(refusal="no")]), ["parts[0].refusal"]),
        (system([Part(audio=Media(url="https://x.test"))]), ["parts[0].audio"]),
        (assistant([Part(tool_result=ToolResult(call_id="c"))]), ["parts[0].tool_result"]),
    ],
)
def test_roles_and_their_content(message: Message, expected: list[str]) -> None:
    assert places(MessageRequest(messages=[message])) == [f"messages[0].{place}" for place in expected]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Part(), [""]),
        (Part(image=Media()), ["image"]),
        (Part(image=Media(data=b"x")), ["image.mime_type"]),
        (Part(image=Media(url="data:image/png;base64,AAAA")), ["image.url"]),
        (Part(document=Document()), ["document"]),
        (Part(document=Document(media=Media())), ["document.media"]),
        (Part(document=Document(data_json="[1]")), ["document.data_json"]),
        (Part(document=Document(parts=Parts(parts=[Part(refusal="x")]))), ["document.parts.parts[0].refusal"]),
        (Part(raw=RawPart()), ["raw.protocol", "raw.body_json"]),
        (Part(text="a", extras=[Extra()]), ["extras[0].protocol", "extras[0].key", "extras[0].value_json"]),
    ],
)
def test_parts_of_users(part: Part, expected: list[str]) -> None:
    assert places(with_part(part)) == [f"messages[0].parts[0].{place}".rstrip(".") for place in expected]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Part(tool_call=ToolCall()), ["tool_call.id", "tool_call.name"]),
        (Part(server_tool_call=ServerToolCall(input_json="{")), ["server_tool_call.input_json"]),
        (Part(text="a", opaque=[OpaqueState(value=b"x")]), ["opaque[0].origin"]),
        (Part(text="a", citations=[Citation(start=1)]), ["citations[0].end"]),
        (Part(text="a", citations=[Citation(start=2, end=1)]), ["citations[0].end"]),
        (Part(text="a", citations=[Citation(sources=[CitationSource(end=1)])]), ["citations[0].sources[0].end"]),
    ],
)
def test_parts_of_the_model(part: Part, expected: list[str]) -> None:
    assert places(with_part(part, role="assistant")) == [f"messages[0].parts[0].{place}" for place in expected]


def test_tool_results_name_their_call_and_hold_media() -> None:
    request = MessageRequest(messages=[tool_result("", [Part(reasoning=Reasoning())])])
    result = "messages[0].parts[0].tool_result"
    assert places(request) == [f"{result}.call_id", f"{result}.parts.parts[0].reasoning"]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (Tool(), [""]),
        (Tool(function=FunctionTool()), ["function.name"]),
        (Tool(function=FunctionTool(name="f", parameters_json="[]")), ["function.parameters_json"]),
        (Tool(custom=CustomTool()), ["custom.name"]),
        (Tool(provider=ProviderTool()), ["provider.type"]),
        (Tool(mcp=McpServer()), ["mcp.url", "mcp.name"]),
        (Tool(server=ServerTool()), ["server.kind"]),
        (
            Tool(
                server=ServerTool(
                    kind=SERVER_TOOL_KIND_WEB_SEARCH, max_uses=0, allowed_domains=["a"], blocked_domains=["b"]
                )
            ),
            ["server.max_uses", "server.blocked_domains"],
        ),
    ],
)
def test_tools(tool: Tool, expected: list[str]) -> None:
    assert places(with_hi(tools=[tool])) == [f"tools[0].{place}".rstrip(".") for place in expected]


def test_names_of_tools_are_unique_and_choices_name_them() -> None:
    tools = [Tool(function=FUNCTION), Tool(custom=CustomTool(name="f"))]
    choice = ToolChoice(mode=TOOL_CHOICE_MODE_NONE, names=["f", "g"])
    assert places(with_hi(tools=tools, tool_choice=choice)) == ["tools[1]", "tool_choice.names[1]", "tool_choice.names"]


def test_reasoning_budget() -> None:
    assert places(with_hi(reasoning=ReasoningOptions(budget_tokens=-2))) == ["reasoning.budget_tokens"]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (OutputFormat(schema_json="{}"), ["kind"]),
        (OutputFormat(kind=OUTPUT_KIND_JSON, schema_json="{}"), ["schema_json"]),
        (OutputFormat(kind=OUTPUT_KIND_ENUM), ["schema_json"]),
        (OutputFormat(kind=OUTPUT_KIND_JSON), []),
    ],
)
def test_output_formats(output: OutputFormat, expected: list[str]) -> None:
    assert places(with_hi(output_format=output)) == [f"output_format.{place}" for place in expected]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is not valid JSON"),
        ('{"a":1} x', "is not valid JSON"),
        ('{"a":"\\ud800"}', "is not valid JSON"),
        ("NaN", "is not valid JSON"),
        ("1", "must be a JSON object"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "is nested too deeply"),
    ],
)
def test_schemas_are_json_objects(text: str, reason: str) -> None:
    (violation,) = validate_request(with_hi(tools=[Tool(function=FunctionTool(name="f", parameters_json=text))]))
    assert violation.path == "tools[0].function.parameters_json"
    assert violation.message.startswith(reason)


def test_huge_integers_are_json() -> None:
    extra = Extra(protocol=PROTOCOL_OPENAI, key="seed", value_json="123456789012345678901234567890")
    assert validate_request(with_hi(extras=[extra])) == []
