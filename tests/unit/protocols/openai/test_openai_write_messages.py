"""Messages of the IR towards OpenAI Chat Completions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.envelope import seal
from fluxrpc.protocols.gates import Gates
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_SIGNATURE, PROTOCOL_ANTHROPIC, OpaqueState
from tests.unit.protocols.openai.chat_ways import OPENAI, sdk_accepts, write

Notes = list[tuple[str, str, str]]
PNG = {"mime_type": "image/png", "data": "QUJD"}
WRITTEN_PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
BYE = {"role": "ROLE_USER", "text": "Bye"}
WRITTEN_BYE = {"role": "user", "content": "Bye"}


def ir(messages: list[dict[str, Any]], **fields: Any) -> MessageRequest:
    return ParseDict({"messages": messages, **fields}, MessageRequest())


def user(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "ROLE_USER", "parts": list(parts)}]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def said(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "ROLE_ASSISTANT", "parts": list(parts)}, BYE]


def call(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"tool_call": {"id": "c1", "name": name, **more}}


def dropped(code: str, path: str) -> tuple[str, str, str]:
    return (code, "DROPPED", path)


def result(**output: Any) -> list[dict[str, Any]]:
    """A call and its result."""
    made = {"role": "ROLE_ASSISTANT", "parts": [call(arguments_json='{"a":1}')]}
    return [made, {"role": "ROLE_TOOL", "parts": [{"tool_result": {"call_id": "c1", **output}}]}]


WRITTEN_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [WRITTEN_CALL]}


def answered(content: str) -> list[dict[str, Any]]:
    return [CALLED, {"role": "tool", "tool_call_id": "c1", "content": content}]


DOCUMENTS = "messages[0].parts[{}].document".format
CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], Notes]] = {
    "plain": (
        [
            {"role": "ROLE_SYSTEM", "text": "S"},
            {"role": "ROLE_DEVELOPER", "parts": [{"text": "a"}, {"text": "b"}]},
            {"role": "ROLE_USER", "text": "U", "name": "ann"},
            {"role": "ROLE_ASSISTANT", "parts": [{"text": "A"}]},
            {"role": "ROLE_USER", "parts": [{"text": "one", "phase": "TEXT_PHASE_PLAN"}]},
        ],
        [
            {"role": "system", "content": "S"},
            {"role": "developer", "content": [text("a"), text("b")]},
            {"role": "user", "content": "U", "name": "ann"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "one"},
        ],
        [],
    ),
    "media": (
        user(
            {"image": PNG},
            {"image": {"url": "https://x/a.png", "detail": "MEDIA_DETAIL_LOW"}},
            {"image": {"url": "https://x/a.png", "detail": "MEDIA_DETAIL_MEDIUM"}},
            {"image": {"url": "https://x/a.png", "detail": "MEDIA_DETAIL_OTHER", "detail_raw": "x"}},
            {"image": {"url": "gs://x/a.png"}},
            {"image": {"file_id": "f"}},
            {"audio": {"mime_type": "audio/mp3", "data": "QUJD"}},
            {"audio": {"mime_type": "audio/flac", "data": "QUJD"}},
            {"audio": {"url": "https://x/a.wav"}},
            {"video": {"url": "https://x/a.mp4"}},
        ),
        [{"role": "user", "content": [
            WRITTEN_PNG,
            {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "auto"}},
            {"type": "image_url", "image_url": {"url": "https://x/a.png"}},
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
        ]}],
        [
            ("IMAGE_DETAIL", "APPROXIMATED", "messages[0].parts[2].image.detail"),
            dropped("IMAGE_DETAIL", "messages[0].parts[3].image.detail"),
            dropped("IMAGE_URL", "messages[0].parts[4].image.url"),
            dropped("FILE_ID", "messages[0].parts[5].image.file_id"),
            dropped("AUDIO", "messages[0].parts[7].audio"),
            dropped("AUDIO", "messages[0].parts[8].audio"),
            dropped("VIDEO", "messages[0].parts[9].video"),
        ],
    ),
    "documents": (
        user(
            {"document": {"media": {"mime_type": "application/pdf", "data": "QUJD"}, "title": "a.pdf"}},
            {"document": {"media": {"file_id": "f", "filename": "b.pdf"}, "context": "c"}},
            {"document": {"media": {"url": "https://x/a.pdf"}}},
            {"document": {"media": {"mime_type": "text/plain", "data": "QUJD", "filename": "n"}}},
            {"document": {"text": "body", "title": "T", "source": "S", "context": "C", "citations": True}},
            {"document": {"data_json": '{"a":1}', "id": "d1"}},
            {"document": {"parts": {"parts": [{"text": "x"}, {"image": PNG}, {"text": "y"}]}}},
        ),
        [{"role": "user", "content": [
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"}},
            {"type": "file", "file": {"file_id": "f", "filename": "b.pdf"}},
            text("n\nABC"),
            text("T\nS\nC\nbody"),
            text('d1\n{"a":1}'),
            text("x\ny"),
        ]}],
        [
            dropped("DOCUMENT_TITLE", f"{DOCUMENTS(1)}.context"),
            dropped("DOCUMENT_URL", f"{DOCUMENTS(2)}.media.url"),
            ("DOCUMENT", "APPROXIMATED", DOCUMENTS(3)),
            dropped("DOCUMENT_CITATIONS", f"{DOCUMENTS(4)}.citations"),
            ("DOCUMENT", "APPROXIMATED", DOCUMENTS(4)),
            ("DOCUMENT_DATA", "APPROXIMATED", DOCUMENTS(5)),
            ("DOCUMENT_PARTS", "APPROXIMATED", DOCUMENTS(6)),
            ("IMAGE", "DROPPED", f"{DOCUMENTS(6)}.parts.parts[1]"),
        ],
    ),
    "raw": (
        [
            *user(
                {"raw": {"protocol": "PROTOCOL_GEMINI", "type": "x", "body_json": "{}"}},
                {"raw": {"protocol": "PROTOCOL_OPENAI", "type": "x", "body_json": '{"type":"text","text":"r"}'}},
            ),
            {"role": "ROLE_USER", "text": "x", "extras": [
                {"protocol": "PROTOCOL_GEMINI", "key": "k", "value_json": "1"},
            ]},
        ],
        [{"role": "user", "content": [text("r")]}, {"role": "user", "content": "x"}],
        [dropped("RAW_PART", "messages[0].parts[0]"), dropped("EXTRA_FIELD", "messages[1].k")],
    ),
    "nothing is left": (
        user({"video": {"url": "https://x/a.mp4"}}),
        [{"role": "user", "content": ""}],
        [dropped("VIDEO", "messages[0].parts[0].video")],
    ),
    "instructions": (
        [{"role": "ROLE_SYSTEM", "parts": [{"text": "S"}, {"image": PNG}, {"document": {"text": "D"}}]}],
        [{"role": "system", "content": [text("S"), text("D")]}],
        [
            dropped("INSTRUCTION_MEDIA", "messages[0].parts[1]"),
            ("DOCUMENT", "APPROXIMATED", "messages[0].parts[2].document"),
        ],
    ),
    "an answer": (
        said(
            {"reasoning": {"text": "hm"}, "opaque": [{"origin": "PROTOCOL_ANTHROPIC", "value": "QUJD"}]},
            {"text": "a", "citations": [{}], "phase": "TEXT_PHASE_FINAL_ANSWER", "opaque": [{}]},
            {"refusal": "no"},
            {"refusal": "never"},
            {"image": PNG},
            {"audio": PNG},
            {"video": PNG},
            {"document": {"text": "x"}},
            {"server_tool_call": {"id": "s"}},
            {"server_tool_result": {"call_id": "s"}},
            {"compaction": {}},
            {"raw": {"protocol": "PROTOCOL_GEMINI", "body_json": "{}"}},
        ),
        [{"role": "assistant", "content": "a", "refusal": "no\nnever"}, WRITTEN_BYE],
        [
            dropped("CITATION_HISTORY", "messages[0].parts[1].citations"),
            dropped("TEXT_PHASE", "messages[0].parts[1].phase"),
            dropped("REASONING_STATE", "messages[0].parts[1].opaque"),
            dropped("IMAGE", "messages[0].parts[4]"),
            dropped("AUDIO", "messages[0].parts[5]"),
            dropped("VIDEO", "messages[0].parts[6]"),
            dropped("DOCUMENT", "messages[0].parts[7]"),
            dropped("SERVER_TOOL_HISTORY", "messages[0].parts[8]"),
            dropped("SERVER_TOOL_HISTORY", "messages[0].parts[9]"),
            dropped("COMPACTION", "messages[0].parts[10]"),
            dropped("RAW_PART", "messages[0].parts[11]"),
            dropped("REASONING_HISTORY", "messages[0].parts[0]"),
        ],
    ),
    "an empty answer": (said(), [{"role": "assistant", "content": ""}, WRITTEN_BYE], []),
    "two texts": (
        said({"text": "a"}, {"text": "b"}), [{"role": "assistant", "content": [text("a"), text("b")]}, WRITTEN_BYE], []
    ),
    "a prefill": (
        [BYE, {"role": "ROLE_ASSISTANT", "parts": [{"text": "{"}]}], [WRITTEN_BYE], [dropped("PREFILL", "messages[1]")]
    ),
    "no prefill": ([{"role": "ROLE_ASSISTANT", "text": "a"}], [{"role": "assistant", "content": "a"}], []),
    "an open call": ([BYE, result()[0]], [WRITTEN_BYE, CALLED], []),
    "text": (result(text="42"), answered("42"), []),
    "nothing": (result(), answered(""), []),
    "an error": (
        result(text="no", is_error=True),
        answered("Error: no"),
        [("TOOL_RESULT_ERROR", "APPROXIMATED", "messages[1].parts[0].tool_result.is_error")],
    ),
    "an object": (result(object_json='{"a": 1.0}'), answered('{"a": 1.0}'), []),
    "an object around a string": (result(object_json='{"output":"o"}'), answered("o"), []),
    "an object around a number": (result(object_json='{"output":1}'), answered('{"output":1}'), []),
    "what is no result": (
        [BYE, {"role": "ROLE_TOOL", "parts": [{"raw": {"protocol": "PROTOCOL_GEMINI", "body_json": "{}"}}]}],
        [WRITTEN_BYE],
        [dropped("RAW_PART", "messages[1].parts[0]")],
    ),
    "empty parts": (result(parts={"parts": []}), answered(""), []),
    "media at the end": (
        result(parts={"parts": [
            {"text": "done"}, {"image": PNG}, {"image": PNG}, {"video": {"url": "https://x/a.mp4"}},
            {"document": {"media": {"file_id": "f"}}},
        ]}),
        [
            *answered(
                "done\n[image 1 of this result is attached in the next user message]\n"
                "[image 2 of this result is attached in the next user message]\n"
                "[document 1 of this result is attached in the next user message]"
            ),
            {"role": "user", "content": [WRITTEN_PNG, WRITTEN_PNG, {"type": "file", "file": {"file_id": "f"}}]},
        ],
        [
            ("TOOL_RESULT_MEDIA", "EMULATED", "messages[1].parts[0].tool_result.parts.parts[1]"),
            ("TOOL_RESULT_MEDIA", "EMULATED", "messages[1].parts[0].tool_result.parts.parts[2]"),
            dropped("VIDEO", "messages[1].parts[0].tool_result.parts.parts[3].video"),
            ("TOOL_RESULT_MEDIA", "EMULATED", "messages[1].parts[0].tool_result.parts.parts[4]"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "expected", "notes"), CASES.values(), ids=list(CASES))
def test_messages(messages: list[dict[str, Any]], expected: list[dict[str, Any]], notes: Notes) -> None:
    written = write(ir(messages))
    sdk_accepts(written.body)
    assert written.body["messages"] == expected
    assert written.notes == notes


IMAGE_RESULT = result(parts={"parts": [{"image": PNG}]})
ATTACHED = answered("[image 1 of this result is attached in the next user message]")


@pytest.mark.parametrize(
    ("following", "expected"),
    [
        (BYE, [{"role": "user", "content": [WRITTEN_PNG, text("Bye")]}]),
        ({"role": "ROLE_USER"}, [{"role": "user", "content": [WRITTEN_PNG]}]),
        (user({"text": "a"}, {"text": "b"})[0], [{"role": "user", "content": [WRITTEN_PNG, text("a"), text("b")]}]),
        (
            {"role": "ROLE_SYSTEM", "text": "S"},
            [{"role": "user", "content": [WRITTEN_PNG]}, {"role": "system", "content": "S"}],
        ),
    ],
)
def test_media_of_results_move_to_the_user(following: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    assert write(ir([*IMAGE_RESULT, following])).body["messages"] == [*ATTACHED, *expected]


def test_results_of_other_kinds_and_their_breakpoints() -> None:
    tool = {"role": "ROLE_TOOL", "parts": [
        {"tool_result": {"call_id": "c1", "text": "42"}, "cache_breakpoint": {},
         "extras": [{"protocol": "PROTOCOL_ANTHROPIC", "key": "k", "value_json": "1"}]},
    ]}  # fmt: skip
    written = write(
        ir([{"role": "ROLE_ASSISTANT", "parts": [{**result()[0]["parts"][0], "cache_breakpoint": {}}]}, tool])
    )
    assert written.body["messages"] == answered("42")
    assert written.notes == [
        dropped("CACHE_BREAKPOINT", "messages[0].parts[0].cache_breakpoint"),
        dropped("CACHE_BREAKPOINT", "messages[1].parts[0].cache_breakpoint"),
        dropped("EXTRA_FIELD", "messages[1].parts[0].k"),
    ]


@pytest.mark.parametrize(
    ("made", "dialect", "expected"),
    [
        (call(), "", {"type": "function", "function": {"name": "f", "arguments": "{}"}}),
        (call(arguments_json=" "), "", {"type": "function", "function": {"name": "f", "arguments": "{}"}}),
        (call(arguments_json="{"), "", {"type": "function", "function": {"name": "f", "arguments": "{"}}),
        (call(custom_text="x"), "", {"type": "custom", "custom": {"name": "f", "input": "x"}}),
        (call(custom_text="x"), "vllm", {"type": "function", "function": {"name": "f", "arguments": '{"input":"x"}'}}),
        (call(name="a.b"), "", {"type": "function", "function": {"name": "a_b", "arguments": "{}"}}),
    ],
)
def test_calls(made: dict[str, Any], dialect: str, expected: dict[str, Any]) -> None:
    written = write(ir([{"role": "ROLE_ASSISTANT", "parts": [made]}]), dialect=dialect)
    assert written.body["messages"][0]["tool_calls"] == [{"id": "c1", **expected}]


SIGNED = {**call(), "opaque": [{"kind": "OPAQUE_KIND_SIGNATURE", "origin": "PROTOCOL_GEMINI", "value": "UVVKRA=="}]}


@pytest.mark.parametrize(
    ("dialect", "extra", "notes"),
    [
        ("google", {"extra_content": {"google": {"thought_signature": "QUJD"}}}, []),
        ("", {}, [dropped("REASONING_STATE", "messages[0].parts[0].opaque")]),
    ],
)
def test_signatures_of_calls(dialect: str, extra: dict[str, Any], notes: Notes) -> None:
    written = write(ir([{"role": "ROLE_ASSISTANT", "parts": [SIGNED]}]), dialect=dialect)
    [made] = written.body["messages"][0]["tool_calls"]
    assert made == {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, **extra}
    assert written.notes == notes


def test_states_that_are_no_signature_are_not_sent_to_google() -> None:
    made = {**call(), "opaque": [{"kind": "OPAQUE_KIND_OTHER", "origin": "PROTOCOL_GEMINI", "value": "QUJD"}]}
    written = write(ir([{"role": "ROLE_ASSISTANT", "parts": [made]}]), dialect="google")
    assert written.notes == [dropped("REASONING_STATE", "messages[0].parts[0].opaque")]


DETAIL = {"type": "reasoning.encrypted", "data": "x"}
BLOCK = {"type": "thinking", "thinking": "hm", "signature": "s"}
THOUGHT = {"reasoning": {"text": "hm", "summaries": ["so", ""]}}


def opaque(kind: str, record: dict[str, Any], **more: str) -> dict[str, Any]:
    state = OpaqueState(value=json.dumps(record).encode(), origin=1)  # type: ignore[arg-type]  # openai
    return {"kind_raw": kind, "origin": "PROTOCOL_OPENAI", "value": state_base64(state), **more}


def state_base64(state: OpaqueState) -> str:
    from base64 import b64encode  # noqa: PLC0415  # one use

    return b64encode(state.value).decode()


STATES = {"opaque": [opaque("reasoning.encrypted/0", DETAIL), opaque("thinking_blocks", BLOCK)]}


@pytest.mark.parametrize(
    ("dialect", "parts", "fields", "notes"),
    [
        ("vllm", [THOUGHT], {"reasoning": "hm\n\nso"}, []),
        ("other", [THOUGHT], {}, [dropped("REASONING_HISTORY", "messages[0].parts[0]")]),
        ("deepseek", [THOUGHT], {}, [dropped("REASONING_HISTORY", "messages[0].parts[0]")]),
        (
            "deepseek",
            [THOUGHT, call()],
            {"reasoning_content": "hm\n\nso", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ]},
            [],
        ),
        (
            "openrouter",
            [{**THOUGHT, **STATES}],
            {"reasoning": "hm\n\nso", "reasoning_details": [DETAIL]},
            [dropped("REASONING_STATE", "messages[0].parts[0].opaque")],
        ),
        (
            "litellm",
            [{**THOUGHT, **STATES}],
            {"reasoning_content": "hm\n\nso", "thinking_blocks": [BLOCK]},
            [dropped("REASONING_STATE", "messages[0].parts[0].opaque")],
        ),
        (
            "openrouter",
            [{"reasoning": {}, "opaque": [opaque("x", DETAIL, service="another")]}],
            {},
            [dropped("REASONING_STATE", "messages[0].parts[0].opaque")],
        ),
        (
            "openrouter",
            [{"reasoning": {}, "opaque": [{"origin": "PROTOCOL_OPENAI", "value": "e30="}]}],
            {"reasoning_details": [{}]},
            [],
        ),
        (
            "openrouter",
            [{"reasoning": {}, "opaque": [{"origin": "PROTOCOL_OPENAI", "value": "ezo="}, {"value": "QUJD"}]}],
            {},
            [dropped("REASONING_STATE", "messages[0].parts[0].opaque")],
        ),
    ],
)  # fmt: skip
def test_earlier_reasoning(dialect: str, parts: list[dict[str, Any]], fields: dict[str, Any], notes: Notes) -> None:
    written = write(ir([*said(*parts)]), dialect=dialect)
    message = {key: value for key, value in written.body["messages"][0].items() if key not in ("role", "content")}
    assert message == fields
    assert written.notes[: len(notes)] == notes


@pytest.mark.parametrize(
    ("dialect", "gates", "role", "expected"),
    [
        ("", Gates(is_reasoning=True), "ROLE_SYSTEM", "developer"),
        ("vllm", Gates(is_reasoning=True), "ROLE_SYSTEM", "system"),
        ("", Gates(), "ROLE_SYSTEM", "system"),
        ("", Gates(), "ROLE_DEVELOPER", "developer"),
        ("vllm", Gates(), "ROLE_DEVELOPER", "system"),
    ],
)
def test_instructions(dialect: str, gates: Gates, role: str, expected: str) -> None:
    written = write(ir([{"role": role, "text": "S"}]), dialect=dialect, gates=gates)
    assert written.body["messages"] == [{"role": expected, "content": "S"}]
    is_lowered = role == "ROLE_DEVELOPER" and expected == "system"
    assert written.notes == [("INSTRUCTION_RANK", "APPROXIMATED", "messages[0]")] * is_lowered


@pytest.mark.parametrize(
    ("caller", "dialect", "expected"),
    [
        (Protocol.ANTHROPIC, "", [text("a")]),
        (Protocol.ANTHROPIC, "vllm", "a"),
        (Protocol.GEMINI, "", "a"),
        (None, "", "a"),
    ],
)
def test_a_list_stays_a_list_where_the_caller_chose_it(caller: Protocol | None, dialect: str, expected: Any) -> None:
    messages = [*user({"text": "a"}), {"role": "ROLE_ASSISTANT", "parts": [{"text": "a"}]}, BYE]
    written = write(ir(messages), caller=caller, dialect=dialect).body["messages"]
    assert [message["content"] for message in written] == [expected, expected, "Bye"]


def test_breakpoints() -> None:
    marks = [{"ttl": "300s"}, {}, {"ttl": "1800s"}, {}, {}]
    parts = [{"text": str(at), "cache_breakpoint": mark} for at, mark in enumerate(marks)]
    written = write(ir(user(*parts)))
    sdk_accepts(written.body)
    breakpoint_ = {"mode": "explicit", "ttl": "30m"}
    assert written.body["messages"][0]["content"] == [
        text("0"),
        *({**text(str(at)), "prompt_cache_breakpoint": breakpoint_} for at in range(1, 5)),
    ]
    assert written.notes == [dropped("CACHE_BREAKPOINT", "messages[0].parts[0].cache_breakpoint")]
    hour = write(ir(user({"text": "a", "cache_breakpoint": {"ttl": "3600s"}})))
    assert hour.notes == [("CACHE_BREAKPOINT", "APPROXIMATED", "messages[0].parts[0].cache_breakpoint.ttl")]


@pytest.mark.parametrize("options", [{"dialect": "vllm"}, {"gates": Gates(refused=frozenset({"cache_breakpoint"}))}])
def test_breakpoints_that_nobody_reads(options: dict[str, Any]) -> None:
    written = write(ir(user({"text": "a", "cache_breakpoint": {}})), **options)
    assert written.body["messages"] == [{"role": "user", "content": "a"}]
    assert written.notes == [dropped("CACHE_BREAKPOINT", "messages[0].parts[0].cache_breakpoint")]


DOCUMENT = {"text": "body", "title": "T"}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([BYE], [{"role": "user", "content": [text("T\nbody"), text("Bye")]}]),
        (
            [{"role": "ROLE_SYSTEM", "text": "S"}],
            [{"role": "system", "content": "S"}, {"role": "user", "content": [text("T\nbody")]}],
        ),
    ],
)
def test_documents_of_the_conversation(messages: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    written = write(ir(messages, documents=[DOCUMENT]))
    assert written.body["messages"] == expected
    assert written.notes == [
        ("RAG_DOCUMENTS", "APPROXIMATED", "documents"),
        ("DOCUMENT", "APPROXIMATED", "documents[0].document"),
    ]


def test_foreign_state_comes_back_from_a_client() -> None:
    state = OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_ANTHROPIC, service="s", model="m", value=b"sig")
    details = [
        {"type": "reasoning.text", "text": "hm"},
        {"type": "reasoning.encrypted", "data": seal(state), "format": "fluxrpc"},
        {"type": "reasoning.text", "signature": "x", "index": 7},
        "odd",
    ]
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "thinking"}]
    messages = [
        {"role": "assistant", "content": "A", "reasoning_details": details},
        {"role": "assistant", "content": "A", "thinking_blocks": blocks, "reasoning": ""},
        {"role": "assistant", "content": "A", "reasoning_content": 5, "reasoning_details": "odd"},
    ]
    read = OPENAI.read_request(json.dumps({"messages": messages}).encode()).message
    first, second, third = (message.parts[0] for message in read.messages)
    assert first.reasoning.text == "hm"
    assert first.opaque[0] == state
    assert (first.opaque[1].kind_raw, json.loads(first.opaque[1].value)) == ("reasoning.text/7", details[2])
    assert (second.reasoning.text, second.opaque[0].kind_raw) == ("hm", "thinking_blocks")
    assert (third.reasoning.text, len(third.opaque)) == ("", 0)
