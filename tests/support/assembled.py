"""What a conforming client gathers from a native stream, in plain values; and the rules of each stream's grammar.

Written from the protocols' documentation, and shares no code with what it judges.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Event = tuple[str, Any]
"""Name and data of one event; the data is text where it is no JSON (`[DONE]`)."""


def events_in(frames: bytes) -> list[Event]:
    """The events of a stream, comments left out."""
    found: list[Event] = []
    for block in frames.decode().split("\n\n"):
        name, data = "", []
        for line in block.split("\n"):
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
        if data:
            text = "\n".join(data)
            found.append((name, text if text == "[DONE]" else json.loads(text)))
    return found


def openai_choices(events: list[Event]) -> dict[int, dict[str, Any]]:
    """Each choice of a Chat stream: content, reasoning, refusal, calls, finish reason."""
    choices: dict[int, dict[str, Any]] = {}
    for _, chunk in events:
        for choice in chunk["choices"] if isinstance(chunk, dict) else ():
            gathered = choices.setdefault(
                choice["index"],
                {"content": None, "reasoning": "", "refusal": "", "calls": {}, "finish_reason": None},
            )
            delta = choice["delta"]
            if delta.get("content") is not None:
                gathered["content"] = (gathered["content"] or "") + delta["content"]
            gathered["reasoning"] += delta.get("reasoning_content") or ""
            gathered["refusal"] += delta.get("refusal") or ""
            for call in delta.get("tool_calls") or ():
                _gather_call(gathered["calls"].setdefault(call["index"], {}), call)
            gathered["finish_reason"] = choice["finish_reason"] or gathered["finish_reason"]
    return choices


def _gather_call(known: dict[str, Any], call: dict[str, Any]) -> None:
    function = call.get("function") or {}
    known["id"] = call.get("id") or known.get("id")
    known["name"] = known.get("name", "") + (function.get("name") or "")
    known["arguments"] = known.get("arguments", "") + (function.get("arguments") or "")


def assembled_openai(events: list[Event]) -> dict[str, Any]:
    """The first choice of a Chat stream, its calls in order of their index, and the usage."""
    choice = openai_choices(events)[0]
    usage = [chunk["usage"] for _, chunk in events if isinstance(chunk, dict) and chunk.get("usage")]
    calls = choice.pop("calls")
    return {
        **choice,
        "tool_calls": [calls[index] for index in sorted(calls)],
        "tool_indexes": sorted(calls),
        "usage": usage[-1] if usage else None,
    }


def assembled_anthropic(events: list[Event]) -> dict[str, Any]:
    """The message of an Anthropic stream."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    for _, data in events:
        kind = data["type"]
        if kind == "message_start":
            message = dict(data["message"])
        elif kind == "content_block_start":
            blocks[data["index"]] = dict(data["content_block"])
        elif kind == "content_block_delta":
            _grow(blocks[data["index"]], data["delta"], inputs, data["index"])
        elif kind == "message_delta":
            message |= data["delta"]
            message["usage"] = {**message.get("usage", {}), **data["usage"]}
    for index, text in inputs.items():
        blocks[index]["input"] = json.loads(text or "{}")
    return {**message, "content": [blocks[index] for index in sorted(blocks)]}


def _grow(block: dict[str, Any], delta: dict[str, Any], inputs: dict[int, str], index: int) -> None:
    kind = delta["type"]
    if kind == "text_delta":
        block["text"] += delta["text"]
    elif kind == "thinking_delta":
        block["thinking"] += delta["thinking"]
    elif kind == "signature_delta":
        block["signature"] = delta["signature"]
    elif kind == "citations_delta":
        block.setdefault("citations", []).append(delta["citation"])
    elif kind == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta["partial_json"]


# --- the grammar ---


def _calls(events: list[Event]) -> list[dict[str, Any]]:
    chunks = [data for _, data in events if isinstance(data, dict)]
    return [call for chunk in chunks for choice in chunk["choices"] for call in choice["delta"].get("tool_calls") or ()]


def _tool_name_once(events: list[Event]) -> bool:
    named = [call["index"] for call in _calls(events) if (call.get("function") or {}).get("name")]
    return len(named) == len(set(named))


def _tool_ids_unique(events: list[Event]) -> bool:
    ids = [call["id"] for call in _calls(events) if call.get("id")]
    return len(ids) == len(set(ids))


def _tool_indexes_dense(events: list[Event]) -> bool:
    indexes = sorted({call["index"] for call in _calls(events)})
    return indexes == list(range(len(indexes)))


def _one_finish_last(events: list[Event]) -> bool:
    with_choices = [data for _, data in events if isinstance(data, dict) and data["choices"]]
    finishes = [bool(data["choices"][0]["finish_reason"]) for data in with_choices]
    return finishes.count(True) == 1 and finishes[-1]


def _done_once(events: list[Event]) -> bool:
    texts = [data for _, data in events if isinstance(data, str)]
    return texts == ["[DONE]"] and events[-1][1] == "[DONE]"


def _kinds(events: list[Event]) -> list[str]:
    return [data["type"] for _, data in events if data["type"] != "ping"]


def _starts_once(events: list[Event]) -> bool:
    kinds = _kinds(events)
    return kinds[0] == "message_start" and kinds.count("message_start") == 1


def _blocks_balanced(events: list[Event]) -> bool:
    is_open: int | None = None
    for _, data in events:
        if data["type"] == "content_block_start":
            if is_open is not None:
                return False
            is_open = data["index"]
        elif data["type"] in {"content_block_delta", "content_block_stop"}:
            if is_open != data["index"]:
                return False
            is_open = None if data["type"] == "content_block_stop" else is_open
    return is_open is None


def _block_indexes_dense(events: list[Event]) -> bool:
    starts = [data["index"] for _, data in events if data["type"] == "content_block_start"]
    return starts == list(range(len(starts)))


_DELTAS = {
    "text": {"text_delta", "citations_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "tool_use": {"input_json_delta"},
    "server_tool_use": {"input_json_delta"},
}


def _deltas_fit(events: list[Event]) -> bool:
    kinds = {
        data["index"]: data["content_block"]["type"] for _, data in events if data["type"] == "content_block_start"
    }
    deltas = [data for _, data in events if data["type"] == "content_block_delta"]
    return all(data["delta"]["type"] in _DELTAS[kinds[data["index"]]] for data in deltas)


def _no_empty_text_block(events: list[Event]) -> bool:
    return all(block["text"] for block in assembled_anthropic(events)["content"] if block["type"] == "text")


def _ends_in_order(events: list[Event]) -> bool:
    return _kinds(events)[-2:] == ["message_delta", "message_stop"]


RULES: dict[str, Callable[[list[Event]], bool]] = {
    "tool_index_distinct_from_0": _tool_indexes_dense,
    "tool_name_once": _tool_name_once,
    "tool_ids_unique": _tool_ids_unique,
    "one_finish_reason_last": _one_finish_last,
    "ends_with_DONE_once": _done_once,
    "message_start_first_once": _starts_once,
    "blocks_balanced": _blocks_balanced,
    "block_index_consecutive_from_0": _block_indexes_dense,
    "delta_type_matches_block": _deltas_fit,
    "no_empty_text_block": _no_empty_text_block,
    "message_delta_then_message_stop": _ends_in_order,
    "no_U+FFFD": lambda events: "\ufffd" not in json.dumps(events, ensure_ascii=False),
}
"""Rules of a stream's grammar by name."""
