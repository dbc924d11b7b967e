from __future__ import annotations

from collections.abc import Sequence

import pytest

from fluxrpc.ir import assistant, system, tool_result, user
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.turns import MISSING_RESULT, Turn, joined_turns, leading_instructions, settled
from fluxrpc.v1.message_pb2 import (
    ROLE_ASSISTANT,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    Message,
    Role,
)
from fluxrpc.v1.part_pb2 import Media, Part, Parts, RawPart, ToolCall, ToolResult

IMAGE = Part(image=Media(mime_type="image/png", data=b"1"))
RAW = Part(raw=RawPart(type="t"))


def calls(*ids: str) -> Message:
    return assistant([Part(tool_call=ToolCall(id=each, name=f"tool_{each}")) for each in ids])


def said(turns: Sequence[Turn]) -> list[tuple[Role.ValueType, list[str]]]:
    """Roles, and what is said: text, `?id` for calls, `id=text` for results."""
    return [(turn.role, [_word(placed.part) for placed in turn.parts]) for turn in turns]


def _word(part: Part) -> str:
    if part.HasField("tool_call"):
        return f"?{part.tool_call.id}"
    if part.HasField("tool_result"):
        return f"{part.tool_result.call_id}={part.tool_result.text}"
    return part.text or str(part.WhichOneof("kind"))


def noted(notes: Notes) -> list[tuple[str, str]]:
    return [(note.code, note.path) for note in notes]


def test_leading_instructions() -> None:
    developer = Message(role=ROLE_DEVELOPER, text="b")
    assert leading_instructions([]) == 0
    assert leading_instructions([system("a"), developer, user("c"), system("d")]) == 2


def test_messages_become_turns() -> None:
    notes = Notes({})
    messages = [system("s"), user("a"), user([Part(text="b"), IMAGE]), Message(role=ROLE_ASSISTANT)]
    turns = settled(messages, notes, first=1)
    assert said(turns) == [(ROLE_USER, ["a"]), (ROLE_USER, ["b", "image"]), (ROLE_ASSISTANT, [])]
    assert [placed.path for turn in turns for placed in turn.parts] == [
        "messages[1].text",
        "messages[2].parts[0]",
        "messages[2].parts[1]",
    ]
    assert [(turn.path, turn.messages) for turn in turns] == [(f"messages[{at}]", [messages[at]]) for at in (1, 2, 3)]
    assert not notes


def test_results_in_several_messages_are_gathered() -> None:
    notes = Notes({})
    messages = [calls("1", "2"), tool_result("1", "a"), tool_result("2", "b"), user("go on")]
    turns = settled(messages, notes)
    assert said(turns) == [(ROLE_ASSISTANT, ["?1", "?2"]), (ROLE_TOOL, ["1=a", "2=b"]), (ROLE_USER, ["go on"])]
    assert (turns[1].path, turns[1].messages) == ("messages[1]", messages[1:3])
    assert [placed.part.tool_result.name for placed in turns[1].parts] == ["tool_1", "tool_2"]
    assert not messages[1].parts[0].tool_result.name, "messages are not changed"
    assert not notes


def test_results_in_one_message_are_of_one_message() -> None:
    message = Message(role=ROLE_TOOL, parts=[*tool_result("1", "a").parts, *tool_result("2", "b").parts])
    turns = settled([calls("1", "2"), message], Notes({}))
    assert turns[1].messages == [message]


def test_a_name_that_is_there_stays() -> None:
    result = ToolResult(call_id="1", name="own", text="a")
    turns = settled([calls("1"), Message(role=ROLE_TOOL, parts=[Part(tool_result=result)])], Notes({}))
    assert turns[1].parts[0].part.tool_result == result


def test_results_follow_the_order_of_calls() -> None:
    notes = Notes({})
    turns = settled([calls("1", "2", "3"), *(tool_result(each, each) for each in "213")], notes)
    assert said(turns)[1] == (ROLE_TOOL, ["1=1", "2=2", "3=3"])
    assert noted(notes) == [
        ("TOOL_RESULT_ORDER", "messages[2].parts[0]"),
        ("TOOL_RESULT_ORDER", "messages[1].parts[0]"),
    ]


def test_results_behind_other_messages_move_to_their_calls() -> None:
    notes = Notes({})
    turns = settled([calls("1", "2"), tool_result("1", "a"), user("wait"), tool_result("2", "b")], notes)
    assert said(turns) == [(ROLE_ASSISTANT, ["?1", "?2"]), (ROLE_TOOL, ["1=a", "2=b"]), (ROLE_USER, ["wait"])]
    assert noted(notes) == [("TOOL_RESULT_ORDER", "messages[3].parts[0]")]


@pytest.mark.parametrize("follows", [[user("well?")], [tool_result("1", "a")]])
def test_a_missing_result_is_made_up(follows: list[Message]) -> None:
    notes = Notes({})
    turns = settled([calls("1", "2"), *follows], notes)
    result = turns[1].parts[-1].part.tool_result
    assert result == ToolResult(call_id="2", name="tool_2", text=MISSING_RESULT, is_error=True)
    assert ("TOOL_RESULT_MISSING", "messages[0].parts[1]") in noted(notes)


def test_results_that_are_all_made_up() -> None:
    turns = settled([calls("1"), user("well?")], Notes({}))
    assert (turns[1].path, turns[1].messages, turns[1].parts[0].path) == ("messages[0]", [], "messages[0].parts[0]")


def test_calls_at_the_end_wait() -> None:
    notes = Notes({})
    assert said(settled([user("a"), calls("1")], notes)) == [(ROLE_USER, ["a"]), (ROLE_ASSISTANT, ["?1"])]
    assert not notes


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            ToolResult(call_id="9", name="f", text="x"),
            ["[Result of the tool call 9 of f, which is not in this conversation]\nx"],
        ),
        (
            ToolResult(is_error=True, object_json="{}"),
            ["[Error of the tool call, which is not in this conversation]\n{}"],
        ),
        (ToolResult(call_id="9"), ["[Result of the tool call 9, which is not in this conversation]"]),
        (
            ToolResult(call_id="9", parts=Parts(parts=[IMAGE, Part(text="y")])),
            ["[Result of the tool call 9, which is not in this conversation]", "image", "y"],
        ),
    ],
)
def test_an_orphan_becomes_text_of_the_user(result: ToolResult, words: list[str]) -> None:
    notes = Notes({})
    message = Message(role=ROLE_TOOL, parts=[Part(tool_result=result)])
    turns = settled([user("a"), message], notes)
    assert said(turns) == [(ROLE_USER, ["a"]), (ROLE_USER, words)]
    assert (turns[1].path, turns[1].messages) == ("messages[1]", [message])
    assert noted(notes) == [("TOOL_RESULT_ORPHAN", "messages[1].parts[0]")]


def test_a_second_result_of_a_call_is_an_orphan() -> None:
    both = Message(role=ROLE_TOOL, parts=[*tool_result("1", "a").parts, *tool_result("1", "b").parts])
    turns = settled([calls("1"), both], Notes({}))
    assert [turn.role for turn in turns] == [ROLE_ASSISTANT, ROLE_TOOL, ROLE_USER]
    assert turns[1].parts[0].part.tool_result.text == "a"
    assert turns[2].parts[0].part.text.endswith("]\nb")


def test_ids_that_are_used_again_belong_to_the_latest_call() -> None:
    messages = [calls("1"), tool_result("1", "a"), calls("1"), tool_result("1", "b"), calls("1", "1")]
    messages += [tool_result("1", "c"), tool_result("1", "d")]
    notes = Notes({})
    words = [words for role, words in said(settled(messages, notes)) if role == ROLE_TOOL]
    assert words == [["1=a"], ["1=b"], ["1=c", "1=d"]]
    assert not notes


def test_parts_that_are_no_results_stay_where_they_are() -> None:
    message = Message(role=ROLE_TOOL, parts=[*tool_result("1", "a").parts, RAW])
    assert said(settled([calls("1"), message], Notes({}))) == [
        (ROLE_ASSISTANT, ["?1"]),
        (ROLE_TOOL, ["1=a"]),
        (ROLE_TOOL, ["raw"]),
    ]


def test_turns_are_joined() -> None:
    messages = [user("a"), user("b"), calls("1"), assistant("c"), tool_result("1", "x"), user("d"), system("e")]
    turns = settled(messages, Notes({}))
    joined = joined_turns(turns)
    assert said(joined) == [
        (ROLE_USER, ["a", "b"]),
        (ROLE_ASSISTANT, ["?1"]),
        (ROLE_TOOL, ["1=x"]),
        (ROLE_ASSISTANT, ["c"]),
        (ROLE_USER, ["d"]),
        (ROLE_SYSTEM, ["e"]),
    ]
    assert joined[0].messages == messages[:2]
    assert said(turns)[0] == (ROLE_USER, ["a"]), "turns are not changed"


def test_results_and_the_user_are_one_turn() -> None:
    turns = settled([calls("1"), tool_result("1", "x"), user("d"), user("e")], Notes({}))
    assert said(joined_turns(turns))[1:] == [(ROLE_USER, ["1=x", "d", "e"])]
    swapped = [turns[2], turns[1]]
    assert said(joined_turns(swapped)) == [(ROLE_USER, ["1=x", "d"])]
