"""Bodies of OpenAI Responses, generated: requests, answers and streams as callers and the service write them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORDS = st.sampled_from(["a", "city", "x-1", "Ω"])
IDS = st.integers(0, 99)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
_UNKNOWN = st.dictionaries(st.sampled_from(["novelty", "x.y", "~odd", "future"]), JSON, max_size=1)
SCHEMA = st.just({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})


def some(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with fields that must be there, others that may, and one that nobody knows."""
    known = st.fixed_dictionaries(required, optional=optional)
    return st.tuples(known, _UNKNOWN).map(lambda pair: pair[1] | pair[0])


def _typed(kind: str, required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[Any]:
    return some({"type": st.just(kind), **required}, optional or {})


# --- content ---

BREAKPOINT = st.fixed_dictionaries(
    {"mode": st.just("explicit")}, optional={"ttl": st.sampled_from(["30m", "12h", "9h"])}
)
_MARK = {"prompt_cache_breakpoint": BREAKPOINT}
_DETAIL = {"detail": st.sampled_from(["auto", "low", "high", "original", "huge"])}
_URLS = st.sampled_from(["https://x.test/a.png", "data:image/png;base64,QUJD"])
GIVEN = st.one_of(
    _typed("input_text", {"text": TEXTS}, _MARK),
    _typed("input_image", {"image_url": _URLS}, _DETAIL | _MARK),
    _typed("input_image", {"file_id": st.just("file-1")}, _DETAIL),
    _typed("input_file", {"file_data": st.just("data:application/pdf;base64,QUJD")}, {"filename": TEXTS}),
    _typed("input_file", {"file_data": st.just("QUJD")}, {"filename": TEXTS} | _MARK),
    _typed("input_file", {"file_url": st.just("https://x.test/a.pdf")}, _DETAIL),
    _typed("input_file", {"file_id": st.just("file-2")}),
    _typed("input_novelty", {"data": JSON}),
)
ANNOTATIONS = st.lists(
    st.one_of(
        _typed(
            "url_citation",
            {
                "start_index": st.integers(0, 3),
                "end_index": st.integers(3, 6),
                "url": st.just("https://x.test"),
                "title": TEXTS,
            },
        ),
        _typed("file_citation", {"file_id": st.just("f"), "filename": TEXTS, "index": IDS}),
        _typed("file_path", {"file_id": st.just("f"), "index": IDS}),
        _typed(
            "container_file_citation",
            {
                "start_index": st.integers(0, 3),
                "end_index": st.integers(3, 6),
                "file_id": st.just("f"),
                "filename": TEXTS,
                "container_id": st.just("c"),
            },
        ),
    ),
    max_size=2,
)


def _token(alternatives: bool) -> st.SearchStrategy[Any]:
    def spelt(text: str, logprob: float, odd: bool) -> dict[str, Any]:
        octets = [1, 2] if odd else list(text.encode())
        token: dict[str, Any] = {"token": text, "bytes": octets, "logprob": logprob}
        return token | ({"top_logprobs": [dict(token)]} if alternatives else {})

    return st.builds(spelt, TEXTS, st.sampled_from([-0.5, 0.0]), st.booleans())


LOGPROBS = st.lists(_token(True), max_size=2)
_REFUSAL = _typed("refusal", {"refusal": TEXTS})
_TEXT = _typed("output_text", {"text": TEXTS, "annotations": ANNOTATIONS}, {"logprobs": LOGPROBS})
SAID = st.one_of(
    _TEXT,
    _REFUSAL,
    _typed("output_text", {"text": TEXTS}),
    _typed("input_text", {"text": TEXTS}),
    _typed("output_novelty", {"data": JSON}),
)
_STATUS = {"status": st.sampled_from(["completed", "incomplete", "in_progress"])}
_PHASE = {"phase": st.sampled_from(["commentary", "final_answer", "musing"])}


def _ids(prefix: str) -> st.SearchStrategy[str]:
    return IDS.map(lambda number: f"{prefix}_{number}")


# --- items ---

_MESSAGES = st.one_of(
    some(
        {"role": st.sampled_from(["user", "system", "developer"]), "content": TEXTS | st.lists(GIVEN, max_size=3)},
        {"type": st.just("message"), "id": _ids("msg")} | _STATUS,
    ),
    some({"role": st.just("assistant"), "content": TEXTS}, {"type": st.just("message")} | _PHASE),
    some(
        {"role": st.just("assistant"), "content": st.lists(SAID, max_size=3)},
        {"type": st.just("message"), "id": _ids("msg")} | _STATUS | _PHASE,
    ),
)
_SUMMARY = st.lists(_typed("summary_text", {"text": TEXTS}) | _typed("novel_text", {"text": TEXTS}), max_size=2)
_THOUGHT = st.lists(_typed("reasoning_text", {"text": TEXTS}), max_size=2)
_PLAIN_SUMMARY = st.lists(st.fixed_dictionaries({"type": st.just("summary_text"), "text": TEXTS}), max_size=2)
_PLAIN_THOUGHT = st.lists(st.fixed_dictionaries({"type": st.just("reasoning_text"), "text": TEXTS}), max_size=2)
_SECRET = {"encrypted_content": st.just("QUJD") | st.none()}
REASONING = _typed(
    "reasoning",
    {"id": _ids("rs"), "summary": _SUMMARY | _PLAIN_SUMMARY},
    {"content": _THOUGHT | _PLAIN_THOUGHT} | _SECRET | _STATUS,
)
_CALL_ID = _ids("call")
CALLS = st.one_of(
    _typed(
        "function_call",
        {"call_id": _CALL_ID, "name": WORDS, "arguments": st.sampled_from(["", "{}", '{"a":1'])},
        {"id": _ids("fc"), "namespace": TEXTS} | _STATUS,
    ),
    _typed("custom_tool_call", {"call_id": _CALL_ID, "name": WORDS, "input": TEXTS}, {"id": _ids("ctc")} | _STATUS),
)
_OUTPUT = TEXTS | st.lists(GIVEN, max_size=2)
_RESULTS = st.one_of(
    _typed(
        "function_call_output", {"call_id": _CALL_ID, "output": _OUTPUT}, {"id": _ids("fco"), "name": WORDS} | _STATUS
    ),
    _typed("custom_tool_call_output", {"call_id": _CALL_ID, "output": _OUTPUT}),
    _typed("computer_call_output", {"call_id": _CALL_ID, "output": JSON}),
)
HOSTED = st.one_of(
    _typed("web_search_call", {"id": _ids("ws"), "action": JSON.filter(lambda found: found is not None)}, _STATUS),
    _typed("file_search_call", {"id": _ids("fs"), "queries": st.lists(TEXTS, max_size=1)}, {"results": JSON} | _STATUS),
    _typed("code_interpreter_call", {"id": _ids("ci"), "code": TEXTS | st.none()}, {"outputs": JSON} | _STATUS),
    _typed(
        "mcp_call", {"id": _ids("mcp"), "name": WORDS, "arguments": TEXTS, "server_label": WORDS}, {"output": TEXTS}
    ),
    _typed(
        "image_generation_call",
        {"id": _ids("ig"), "status": st.just("completed"), "result": st.just("QUJD")},
        {"output_format": st.just("webp")},
    ),
    _typed("image_generation_call", {"id": _ids("ig"), "result": st.none()}),
    _typed("compaction", {"id": _ids("cmp"), "encrypted_content": st.just("QUJD")}),
    _typed("computer_call", {"id": _ids("cu"), "action": JSON}, _STATUS),
)
ITEMS = st.one_of(_MESSAGES, REASONING, CALLS, _RESULTS, HOSTED, _typed("item_reference", {"id": _ids("msg")}))

# --- settings ---

_FORMATS = st.one_of(
    _typed("text", {}),
    _typed("json_object", {}),
    _typed(
        "json_schema", {"name": TEXTS, "schema": SCHEMA}, {"strict": st.booleans() | st.none(), "description": TEXTS}
    ),
    _typed("xml", {}),
)
_LOCATION = some({"type": st.just("approximate")}, {"city": TEXTS.filter(bool), "country": st.just("NO")})
TOOLS = st.one_of(
    _typed(
        "function",
        {"name": WORDS},
        {
            "parameters": SCHEMA | st.none(),
            "strict": st.booleans() | st.none(),
            "description": TEXTS,
            "defer_loading": st.booleans(),
            "allowed_callers": st.lists(WORDS, max_size=1),
            "output_schema": SCHEMA,
        },
    ),
    _typed(
        "custom",
        {"name": WORDS},
        {
            "description": TEXTS,
            "format": st.one_of(
                _typed("text", {}),
                _typed(
                    "grammar", {"syntax": st.sampled_from(["lark", "regex", "ebnf"]), "definition": TEXTS.filter(bool)}
                ),
            ),
        },
    ),
    _typed(
        "web_search",
        {},
        {
            "filters": some({}, {"allowed_domains": st.lists(WORDS, max_size=1)}),
            "user_location": _LOCATION,
            "search_context_size": st.sampled_from(["low", "medium", "high", "vast"]),
        },
    ),
    _typed("web_search_preview", {}),
    _typed(
        "mcp",
        {"server_label": WORDS},
        {
            "server_url": TEXTS,
            "authorization": TEXTS,
            "allowed_tools": st.lists(WORDS, min_size=1, max_size=1) | SCHEMA,
        },
    ),
    _typed("code_interpreter", {"container": JSON}),
    _typed("shell", {}),
    _typed("novel_tool", {"config": JSON}),
)
_CHOICES = st.one_of(
    st.sampled_from(["auto", "required", "none", "perhaps"]),
    _typed("function", {"name": WORDS}),
    _typed("mcp", {"server_label": WORDS}, {"name": WORDS}),
    _typed("shell", {}),
    _typed(
        "allowed_tools",
        {
            "mode": st.sampled_from(["auto", "required"]),
            "tools": st.lists(_typed("function", {"name": WORDS}), max_size=2),
        },
    ),
)
_NUMBER = st.sampled_from([0, 0.5, 1])
SETTINGS: dict[str, Any] = {
    "instructions": TEXTS | st.none(),
    "max_output_tokens": st.integers(1, 2**40) | st.none(),
    "max_tool_calls": st.integers(1, 9),
    "temperature": _NUMBER | st.none(),
    "top_p": _NUMBER,
    "top_logprobs": st.integers(0, 20),
    "reasoning": some(
        {},
        {
            "effort": st.sampled_from(["none", "low", "xhigh", "max", "heroic"]) | st.none(),
            "summary": st.sampled_from(["auto", "concise", "detailed", "epic"]),
            "context": st.just("auto"),
        },
    ),
    "text": some({}, {"format": _FORMATS, "verbosity": st.sampled_from(["low", "high", "vast"])}),
    "tools": st.lists(TOOLS, max_size=3),
    "tool_choice": _CHOICES,
    "parallel_tool_calls": st.booleans(),
    "include": st.lists(
        st.sampled_from(["reasoning.encrypted_content", "message.output_text.logprobs", "web_search_call.results"]),
        max_size=2,
        unique=True,
    ),
    "previous_response_id": TEXTS,
    "conversation": TEXTS | some({"id": st.just("conv_1")}, {}),
    "store": st.booleans() | st.none(),
    "truncation": st.just("auto"),
    "background": st.booleans(),
    "prompt": JSON,
    "metadata": st.dictionaries(WORDS, TEXTS | st.none(), max_size=2),
    "user": TEXTS,
    "safety_identifier": TEXTS,
    "service_tier": st.sampled_from(["auto", "default", "flex", "ultrafast", "glacial"]),
    "prompt_cache_key": TEXTS,
    "prompt_cache_options": some(
        {},
        {
            "mode": st.sampled_from(["implicit", "explicit", "odd"]),
            "ttl": st.sampled_from(["30m", "12h", "9d"]),
        },
    ),
}
REQUESTS = some({"model": st.just("m"), "input": TEXTS | st.lists(ITEMS, max_size=5)}, SETTINGS)
"""Requests. A stream switch is not among them: it is written as the call wants it."""

# --- answers ---

_DONE = {"status": st.just("completed")}
_ANSWER_TEXT = _typed("output_text", {"text": TEXTS, "annotations": ANNOTATIONS}, {"logprobs": LOGPROBS})
_ANSWER_REFUSAL = st.fixed_dictionaries({"type": st.just("refusal"), "refusal": TEXTS})
_FUNCTION_CALL = _typed(
    "function_call",
    {
        "id": IDS,
        "call_id": _CALL_ID,
        "name": WORDS,
        "arguments": st.sampled_from(["{}", '{"a":"é"}']),
    }
    | _DONE,
)
_CUSTOM_CALL = _typed(
    "custom_tool_call",
    {
        "id": IDS,
        "call_id": _CALL_ID,
        "name": WORDS,
        "input": TEXTS.filter(bool),
    }
    | _DONE,
)
OUTPUT = st.one_of(
    _typed(
        "message",
        {
            "id": IDS,
            "role": st.just("assistant"),
            "content": st.lists(_ANSWER_TEXT | _ANSWER_REFUSAL, min_size=1, max_size=3),
        }
        | _DONE,
        _PHASE,
    ),
    _typed("reasoning", {"id": IDS, "summary": _PLAIN_SUMMARY}, {"content": _PLAIN_THOUGHT} | _SECRET),
    _FUNCTION_CALL,
    _CUSTOM_CALL,
    HOSTED,
)
_ENDS = st.sampled_from(
    [
        ("completed", None),
        ("incomplete", {"reason": "max_output_tokens"}),
        ("incomplete", {"reason": "content_filter"}),
        ("incomplete", {"reason": "steered"}),
        ("incomplete", None),
    ]
)
_COUNT = st.integers(0, 2**40)
USAGE = some(
    {
        "input_tokens": _COUNT,
        "input_tokens_details": st.fixed_dictionaries(
            {"cached_tokens": _COUNT, "cache_write_tokens": _COUNT},
            optional={
                "cache_write_tokens_details": st.just({"ttl_30m_tokens": 3, "ttl_12h_tokens": 4}),
            },
        ),
        "output_tokens": _COUNT,
        "output_tokens_details": st.fixed_dictionaries({"reasoning_tokens": _COUNT}),
        "total_tokens": _COUNT,
    },
    {},
)


def _numbered(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ids of items are unique in an answer."""
    return [item | {"id": f"it_{index}"} for index, item in enumerate(output)]


def _ended(answer: dict[str, Any], end: tuple[str, Any]) -> dict[str, Any]:
    return answer | {"status": end[0], "incomplete_details": end[1]}


def _answers(output: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        _ended,
        some(
            {
                "id": st.just("resp_1"),
                "object": st.just("response"),
                "created_at": st.integers(1, 2**31),
                "error": st.none(),
                "instructions": TEXTS | st.none(),
                "metadata": st.dictionaries(WORDS, TEXTS, max_size=1),
                "model": st.just("gpt-x"),
                "output": st.lists(output, max_size=4).map(_numbered),
                "parallel_tool_calls": st.booleans(),
                "temperature": _NUMBER | st.none(),
                "tool_choice": st.sampled_from(["auto", "none"]),
                "tools": st.lists(TOOLS, max_size=1),
                "top_p": _NUMBER | st.none(),
            },
            {
                "usage": USAGE,
                "completed_at": IDS,
                "service_tier": st.sampled_from(["default", "flex", "glacial"]),
                "max_output_tokens": st.none() | st.just(9),
                "tool_usage": st.just({"web_search": {"num_requests": 2}, "image_gen": {}}),
                "moderation": JSON.filter(lambda found: found is not None),
            },
        ),
        _ENDS,
    )


ANSWERS = _answers(OUTPUT)
PLAIN_OUTPUT = st.one_of(
    _typed(
        "message",
        {
            "id": IDS,
            "role": st.just("assistant"),
            "content": st.lists(
                _typed("output_text", {"text": TEXTS, "annotations": ANNOTATIONS}) | _ANSWER_REFUSAL,
                min_size=1,
                max_size=3,
            ),
        }
        | _DONE,
        _PHASE,
    ),
    _typed(
        "reasoning",
        {"id": IDS, "summary": _PLAIN_SUMMARY},
        {
            "content": st.lists(
                st.fixed_dictionaries({"type": st.just("reasoning_text"), "text": TEXTS.filter(bool)}),
                min_size=1,
                max_size=1,
            )
        }
        | _SECRET,
    ),
    _FUNCTION_CALL,
    _CUSTOM_CALL,
)
"""Items whose events say all of them, in the order in which we say it."""


def _cut(draw: Any, text: str) -> list[str]:
    at = draw(st.integers(0, len(text)))
    return [piece for piece in (text[:at], text[at:]) if piece]


class _Stream:
    """Writes the events of a stream as the service does."""

    def __init__(self, draw: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self._draw = draw

    def add(self, kind: str, **fields: Any) -> None:
        self.events.append({"type": f"response.{kind}", "sequence_number": len(self.events)} | fields)

    def grow(self, kind: str, text: str, field: str, /, **place: Any) -> None:
        for piece in _cut(self._draw, text):
            self.add(f"{kind}.delta", delta=piece, **place)
        self.add(f"{kind}.done", **{field: text}, **place)

    def item(self, index: int, item: dict[str, Any]) -> None:
        place = {"item_id": item["id"], "output_index": index}
        kind = item["type"]
        shell = _shell(item)
        self.add("output_item.added", output_index=index, item=shell)
        if kind == "message":
            for at, piece in enumerate(item["content"]):
                self.piece(piece, content_index=at, **place)
        elif kind == "reasoning":
            for at, summary in enumerate(item["summary"]):
                self.add("reasoning_summary_part.added", summary_index=at, part=summary | {"text": ""}, **place)
                self.grow("reasoning_summary_text", summary["text"], "text", summary_index=at, **place)
                self.add("reasoning_summary_part.done", summary_index=at, part=summary, **place)
            for at, thought in enumerate(item.get("content", [])):
                self.grow("reasoning_text", thought["text"], "text", content_index=at, **place)
        elif kind == "function_call":
            self.grow("function_call_arguments", item["arguments"], "arguments", **place)
        elif kind == "custom_tool_call":
            self.grow("custom_tool_call_input", item["input"], "input", **place)
        self.add("output_item.done", output_index=index, item=item)

    def piece(self, piece: dict[str, Any], **place: Any) -> None:
        is_refusal = piece["type"] == "refusal"
        empty = (
            {"type": "refusal", "refusal": ""} if is_refusal else {"type": "output_text", "text": "", "annotations": []}
        )
        self.add("content_part.added", part=empty, **place)
        if is_refusal:
            self.grow("refusal", piece["refusal"], "refusal", **place)
        else:
            sides: dict[str, Any] = {"logprobs": []}
            for each in _cut(self._draw, piece["text"]):
                self.add("output_text.delta", delta=each, **place, **sides)
            for at, annotation in enumerate(piece["annotations"]):
                self.add("output_text.annotation.added", annotation=annotation, annotation_index=at, **place)
            self.add("output_text.done", text=piece["text"], **place, **sides)
        self.add("content_part.done", part=piece, **place)


def _shell(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it begins."""
    kept: dict[str, Any] = {key: item[key] for key in ("id", "type", "role", "phase", "call_id", "name") if key in item}
    empty: dict[str, dict[str, Any]] = {
        "message": {"status": "in_progress", "content": []},
        "reasoning": {"summary": []},
        "function_call": {"status": "in_progress", "arguments": ""},
        "custom_tool_call": {"status": "in_progress", "input": ""},
    }
    return kept | empty.get(item["type"], {"status": "in_progress"})


@st.composite
def streams(draw: Any, output: st.SearchStrategy[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """An answer, and the events of a stream that says it."""
    answer = draw(_answers(output))
    stream = _Stream(draw)
    news = {"usage", "completed_at", "tool_usage", "moderation", "novelty", "x.y", "~odd", "future"}
    opening = {key: value for key, value in answer.items() if key not in news}
    opening |= {"status": "in_progress", "output": [], "incomplete_details": None}
    stream.add("created", response=opening)
    stream.add("in_progress", response=opening)
    for index, item in enumerate(answer["output"]):
        stream.item(index, item)
    stream.add(answer["status"], response=answer)
    return answer, stream.events


STREAMS = streams(OUTPUT)
PLAIN_STREAMS = streams(PLAIN_OUTPUT)
