from __future__ import annotations

from fluxrpc.ir import assistant, parts_of, result_parts, system, text_of, tool_result, user
from fluxrpc.v1 import (
    ROLE_ASSISTANT,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    Message,
    Part,
    Parts,
    Reasoning,
    ToolResult,
)


def test_text_stays_text() -> None:
    assert system("Be brief.") == Message(role=ROLE_SYSTEM, text="Be brief.")
    assert user("Hi") == Message(role=ROLE_USER, text="Hi")


def test_parts_stay_parts() -> None:
    parts = [Part(text="a"), Part(refusal="b")]
    assert assistant(parts) == Message(role=ROLE_ASSISTANT, parts=parts)


def test_tool_result_says_error_only_when_told() -> None:
    plain = tool_result("c1", "42")
    assert plain == Message(role=ROLE_TOOL, parts=[Part(tool_result=ToolResult(call_id="c1", text="42"))])
    assert not plain.parts[0].tool_result.HasField("is_error")
    failed = tool_result("c1", [Part(text="no")], is_error=True).parts[0].tool_result
    assert failed.is_error
    assert failed.parts == Parts(parts=[Part(text="no")])


def test_parts_of_gives_one_form() -> None:
    assert list(parts_of(user("Hi"))) == [Part(text="Hi")]
    assert list(parts_of(user([Part(text="Hi")]))) == [Part(text="Hi")]
    assert list(parts_of(Message(role=ROLE_USER))) == []


def test_result_parts_gives_one_form() -> None:
    assert list(result_parts(ToolResult(text="a"))) == [Part(text="a")]
    assert list(result_parts(ToolResult(object_json='{"a":1}'))) == [Part(text='{"a":1}')]
    assert list(result_parts(ToolResult(parts=Parts(parts=[Part(text="a")])))) == [Part(text="a")]
    assert list(result_parts(ToolResult())) == []


def test_text_of_leaves_reasoning_and_refusal_out() -> None:
    parts = [Part(reasoning=Reasoning(text="hm")), Part(text="a"), Part(refusal="no"), Part(text="b")]
    assert text_of(parts) == "ab"
