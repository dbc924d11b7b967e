"""Conversations of other callers as `system` and `messages`."""

from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.errors import InvalidRequest
from fluxrpc.ir.build import assistant, system, tool_result, user
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import Gates
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.message_pb2 import ROLE_DEVELOPER, Message, MessageRequest
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import PROTOCOL_ANTHROPIC, PROTOCOL_OPENAI, Extra
from tests.unit.protocols.anthropic.saying import HI, Written, write


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(call_id: str, arguments: str = "{}", name: str = "f") -> Part:
    return Part(tool_call=pb.ToolCall(id=call_id, name=name, arguments_json=arguments))


def said(*messages: Message, **options: Any) -> Written:
    return write(MessageRequest(messages=messages), **options)


def developer(content: str) -> Message:
    return Message(role=ROLE_DEVELOPER, text=content)


# --- instructions ---

SYSTEMS: dict[str, tuple[list[Message], Any, list[str]]] = {
    "none": ([], None, []),
    "one": ([system("Be kind.")], "Be kind.", []),
    "parts": ([system([Part(text="a"), Part(text="b")])], [text("a"), text("b")], []),
    "one part": ([system([Part(text="a")])], [text("a")], []),
    "two ranks": ([system("Be brief."), developer("Dutch.")], [text("Be brief."), text("Dutch.")], []),
    "empty": ([system(" ")], None, ["dropped EMPTY_CONTENT messages[0].text"]),
    "named": (
        [Message(role=msg.ROLE_SYSTEM, text="a", name="n")],
        "a",
        ["dropped PARTICIPANT_NAME messages[0].name"],
    ),
    "media": (
        [system([Part(image=pb.Media(url="https://a.test")), Part(text="a")])],
        [text("a")],
        ["dropped INSTRUCTION_MEDIA messages[0].parts[0]"],
    ),
}


@pytest.mark.parametrize(("messages", "expected", "notes"), SYSTEMS.values(), ids=SYSTEMS.keys())
def test_leading_instructions(messages: list[Message], expected: Any, notes: list[str]) -> None:
    written = said(*messages, HI)
    assert written.body.get("system") == expected
    assert written.body["messages"] == [{"role": "user", "content": "Hi"}]
    assert written.notes == notes


LATE: dict[str, tuple[list[Message], bool, list[Any], list[str]]] = {
    "a message of its own": (
        [HI, developer("Rhyme.")],
        True,
        [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Rhyme."}],
        [],
    ),
    "before the model": (
        [HI, system("Rhyme."), assistant("a"), HI],
        True,
        [
            {"role": "user", "content": "Hi"},
            {"role": "system", "content": "Rhyme."},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "Hi"},
        ],
        [],
    ),
    "behind the model": (
        [HI, assistant("a"), system("Rhyme."), HI],
        True,
        [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": [text("[system instruction] Rhyme."), text("Hi")]},
        ],
        ["emulated LATE_INSTRUCTIONS messages[2]"],
    ),
    "before the user": (
        [HI, system("Rhyme."), HI],
        True,
        [{"role": "user", "content": [text("Hi"), text("[system instruction] Rhyme."), text("Hi")]}],
        ["emulated LATE_INSTRUCTIONS messages[1]"],
    ),
    "not taken": (
        [HI, assistant("a"), developer("Rhyme.")],
        False,
        [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "[system instruction] Rhyme."},
        ],
        ["emulated LATE_INSTRUCTIONS messages[2]"],
    ),
    "raw": (
        [
            HI,
            system(
                [
                    Part(raw=pb.RawPart(protocol=PROTOCOL_ANTHROPIC, type="new", body_json='{"type":"new"}')),
                    Part(image=pb.Media(url="https://a.test")),
                ]
            ),
        ],
        False,
        [
            {
                "role": "user",
                "content": [
                    text("Hi"),
                    {"type": "new"},
                    {"type": "image", "source": {"type": "url", "url": "https://a.test"}},
                ],
            }
        ],
        ["emulated LATE_INSTRUCTIONS messages[1]"],
    ),
}


@pytest.mark.parametrize(("messages", "is_taken", "expected", "notes"), LATE.values(), ids=LATE.keys())
def test_late_instructions(messages: list[Message], is_taken: bool, expected: list[Any], notes: list[str]) -> None:
    written = said(*messages, gates=Gates(late_system=is_taken))
    assert written.body["messages"] == expected
    assert written.notes == notes


# --- turns ---


def test_results_stand_together_before_other_text() -> None:
    written = said(
        user("A and B?"),
        assistant([call("c1", '{"q":"A"}'), call("c2", '{"q":"B"}')]),
        tool_result("c2", "bee"),
        tool_result("c1", "ay"),
        user("Go on."),
    )
    assert written.body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"q": "A"}},
                {"type": "tool_use", "id": "c2", "name": "f", "input": {"q": "B"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "ay"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "bee"},
                text("Go on."),
            ],
        },
    ]


def test_empty_messages_vanish_and_their_neighbours_meet() -> None:
    written = said(HI, assistant(""), user([Part(text=""), Part(text="There?")]))
    assert written.body["messages"] == [{"role": "user", "content": [text("Hi"), text("There?")]}]
    assert written.notes == ["dropped EMPTY_CONTENT messages[1]", "dropped EMPTY_CONTENT messages[2].parts[0]"]


def test_nothing_left_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="must say something"):
        said(user(" "))


def test_the_user_speaks_first() -> None:
    written = said(assistant("Hello"), HI)
    assert written.body["messages"][0] == {
        "role": "user",
        "content": [text("(The conversation begins with your own message.)")],
    }
    assert written.notes == ["injected FIRST_TURN messages[0]"]


def test_names_and_extras_of_messages() -> None:
    message = Message(
        role=msg.ROLE_USER,
        text="Hi",
        name="ann",
        extras=[
            Extra(protocol=PROTOCOL_ANTHROPIC, key="new", value_json="1"),
            Extra(protocol=PROTOCOL_OPENAI, key="old", value_json="2"),
        ],
    )
    written = said(message, caller=Protocol.OPENAI)
    assert written.body["messages"] == [{"role": "user", "content": "Hi", "new": 1}]
    assert written.notes == ["dropped PARTICIPANT_NAME messages[0].name", "dropped EXTRA_FIELD messages[0].old"]


# --- the last word ---

PREFILLS: dict[str, tuple[Message, Gates, Any, list[str]]] = {
    "taken": (assistant("{"), Gates(), "{", []),
    "white space": (
        assistant("{ \n"),
        Gates(),
        "{",
        ["dropped EMPTY_CONTENT messages[1]"],
    ),
    "refused": (assistant("{"), Gates(prefill=False), None, ["dropped PREFILL messages[1]"]),
    "a call": (
        assistant([call("c")]),
        Gates(),
        [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
        [],
    ),
    "the provider goes on": (
        assistant([Part(server_tool_call=pb.ServerToolCall(id="s", kind_raw="web_search"))]),
        Gates(prefill=False),
        [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}],
        [],
    ),
    "raw": (
        assistant([Part(raw=pb.RawPart(protocol=PROTOCOL_ANTHROPIC, type="x", body_json='{"type":"x"}'))]),
        Gates(prefill=False),
        [{"type": "x"}],
        [],
    ),
}


@pytest.mark.parametrize(("last", "gates", "expected", "notes"), PREFILLS.values(), ids=PREFILLS.keys())
def test_answers_that_are_begun(last: Message, gates: Gates, expected: Any, notes: list[str]) -> None:
    written = said(HI, last, gates=gates)
    assert [each["content"] for each in written.body["messages"][1:]] == ([] if expected is None else [expected])
    assert written.notes == notes


def test_no_prefill_with_an_answer_of_a_schema() -> None:
    output = msg.OutputFormat(kind=msg.OUTPUT_KIND_JSON_SCHEMA, schema_json='{"type":"object"}')
    written = write(MessageRequest(messages=[HI, assistant("{")], output_format=output))
    assert len(written.body["messages"]) == 1
    assert "dropped PREFILL messages[1]" in written.notes


# --- documents for the whole conversation ---


def test_documents_stand_before_the_last_words_of_the_user() -> None:
    documents = [
        pb.Document(id="d1", text="one"),
        pb.Document(id="d2", data_json='{"a":1}', citations=False),
        pb.Document(media=pb.Media(mime_type="audio/wav", data=b"x")),
    ]
    written = write(
        MessageRequest(messages=[HI, assistant([call("c")]), tool_result("c", "x"), user("Now?")], documents=documents)
    )
    assert written.body["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c", "content": "x"},
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "one"},
            "title": "d1",
            "citations": {"enabled": True},
        },
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": '{"a":1}'},
            "title": "d2",
            "citations": {"enabled": False},
        },
        text("Now?"),
    ]
    assert written.notes == [
        "reordered RAG_DOCUMENTS documents[0]",
        "reordered RAG_DOCUMENTS documents[1]",
        "reordered RAG_DOCUMENTS documents[2]",
        "dropped MEDIA_TYPE documents[2].media.mime_type",
    ]


def test_documents_are_not_cited_where_nobody_wants_it() -> None:
    written = write(
        MessageRequest(messages=[HI], documents=[pb.Document(text="one")], citation_mode=msg.CITATION_MODE_OFF)
    )
    assert written.body["messages"][0]["content"][0]["citations"] == {"enabled": False}
