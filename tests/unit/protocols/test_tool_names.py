from __future__ import annotations

import re

import pytest

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.tool_names import ToolNames, made_up_call_id, written_call_id
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, Message, MessageRequest, Tool
from fluxrpc.v1.part_pb2 import Part, ToolCall
from fluxrpc.v1.tool_pb2 import CustomTool, FunctionTool, ToolChoice

COHERE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*"), re.compile(r"[^A-Za-z0-9_]")
OPENAI = re.compile(r"[A-Za-z0-9_-]{1,64}"), re.compile(r"[^A-Za-z0-9_-]")


def _names(*tools: str, rules: tuple[re.Pattern[str], re.Pattern[str]] = COHERE, said: str = "") -> ToolNames:
    request = MessageRequest(
        tools=[Tool(function=FunctionTool(name=name)) for name in tools],
        tool_choice=ToolChoice(names=tools[:1]),
        messages=[Message(role=ROLE_ASSISTANT, parts=[Part(text="."), Part(tool_call=ToolCall(name=said))])],
    )
    context = Context(caller=None, target=Target(protocol=Protocol.COHERE, model="m"), request=request)
    return ToolNames(context, Notes({}), *rules)


def test_legal_names_stay() -> None:
    names = _names("get_weather")
    assert names.written("get_weather", "tools[0]") == "get_weather"
    assert not names._context.tool_names
    assert not names._notes


def test_a_renamed_tool_is_entered_and_noted_once() -> None:
    names = _names("get-weather")
    for path in ("tools[0].function.name", "tool_choice.names[0]"):
        assert names.written("get-weather", path) == "get_weather"
    assert names._context.tool_names == {"get_weather": "get-weather"}
    assert [(note.code, note.path) for note in names._notes] == [("TOOL_NAME", "tools[0].function.name")]


def test_no_two_tools_get_the_same_name() -> None:
    tools = ("a.b", "a-b", "a_b", "a b")
    names = _names(*tools)
    written = [names.written(each, "") for each in tools]
    assert len(set(written)) == len(tools)
    assert written[2] == "a_b"
    assert all(COHERE[0].fullmatch(each) for each in written)


def test_names_do_not_depend_on_what_is_met_first() -> None:
    tools = ("a.b", "a-b")
    forwards, backwards = _names(*tools), _names(*tools, said="a-b")
    assert [forwards.written(each, "") for each in tools] == [backwards.written(each, "") for each in tools[::-1]][::-1]
    assert forwards.written("a-b", "") == backwards.written("a-b", "")


@pytest.mark.parametrize(("name", "written"), [("9a", "_9a"), ("", "_"), ("\u00e9t\u00e9", "_t_")])
def test_first_characters(name: str, written: str) -> None:
    assert _names(name).written(name, "") == written


@pytest.mark.parametrize("name", ["x" * 65, "x" * 100_000, "-" * 200])
def test_long_names_are_cut_and_told_apart(name: str) -> None:
    names = _names(name, rules=OPENAI)
    one, other = names.written(name, ""), names.written(name + "y", "")
    assert one != other
    assert len(one) == 64
    assert OPENAI[0].fullmatch(one)


def test_names_of_other_tools_are_kept_free() -> None:
    request = MessageRequest(tools=[Tool(custom=CustomTool(name="a_b")), Tool(function=FunctionTool(name="a-b"))])
    context = Context(caller=None, target=Target(protocol=Protocol.COHERE, model="m"), request=request)
    assert ToolNames(context, Notes({}), *COHERE).written("a-b", "") != "a_b"


@pytest.mark.parametrize(
    ("call_id", "written"),
    [("call_1", "call_1"), ("a b", "a_b_c8687a08aa5d"), ("", "_e3b0c44298fc"), ("x" * 64, "x" * 64)],
)
def test_ids_of_calls(call_id: str, written: str) -> None:
    legal = re.compile(r"[A-Za-z0-9_-]+")
    assert written_call_id(call_id, legal) == written


def test_ids_that_are_too_long() -> None:
    legal = re.compile(r"[A-Za-z0-9_-]+")
    one, other = written_call_id("x" * 65, legal), written_call_id("x" * 66, legal)
    assert one != other
    assert len(one) == len(other) == 64


def test_ids_of_nine_letters_and_digits() -> None:
    legal = re.compile(r"[a-zA-Z0-9]{9}")
    assert written_call_id("toolu_1", legal, max_length=9) == "4838a0c25"
    assert written_call_id("abcdefghi", legal, max_length=9) == "abcdefghi"


def test_ids_that_are_made_up() -> None:
    assert made_up_call_id(1, 0) == "call_gw_1_0"
