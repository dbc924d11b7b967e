"""Anthropic Messages, as the provider writes it; both API versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fluxrpc.simulator.answer import Answer
from fluxrpc.simulator.ask import (
    Ask,
    HttpRequest,
    Json,
    OfferedTool,
    Problem,
    Rejected,
    as_stops,
    bearer,
    check_key,
    last_assistant_text,
    last_text,
    missing,
    read_json,
)
from fluxrpc.simulator.dialects.base import Dialect, message_of, path_pattern
from fluxrpc.simulator.frames import Frame
from fluxrpc.simulator.script import Usage
from fluxrpc.simulator.text import count_words, texts

_FINISH = {
    "stop": "end_turn", "length": "max_tokens", "stop_sequence": "stop_sequence", "tool_calls": "tool_use",
    "refusal": "refusal", "content_filter": "refusal",
}  # fmt: skip

_ERRORS: Mapping[str, tuple[int, str]] = {
    "bad_request": (400, "invalid_request_error"),
    "no_key": (401, "authentication_error"),
    "bad_key": (401, "authentication_error"),
    "billing": (402, "billing_error"),
    "quota": (429, "rate_limit_error"),
    "forbidden": (403, "permission_error"),
    "model_not_found": (404, "not_found_error"),
    "not_found": (404, "not_found_error"),
    "timeout": (504, "timeout_error"),
    "conflict": (409, "conflict_error"),
    "too_large": (413, "request_too_large"),
    "unprocessable": (422, "invalid_request_error"),
    "rate_limit": (429, "rate_limit_error"),
    "context_length": (400, "invalid_request_error"),
    "content_filter": (400, "invalid_request_error"),
    "server_error": (500, "api_error"),
    "overloaded": (529, "overloaded_error"),
}
_MESSAGES = {
    "no_key": "x-api-key header is required",
    "bad_key": "invalid x-api-key",
    "context_length": "prompt is too long: 210000 tokens > 200000 maximum",
    "content_filter": "Output blocked by content filtering policy",
    "overloaded": "Overloaded",
    "quota": "Your organization has reached its enforced spend limit.",
}
_VERSION_WITHOUT_SAMPLING = "2026-10-21"


def _error(problem: Problem) -> Json:
    _, kind = _ERRORS[problem.word]
    message = problem.message
    if message is None and problem.word == "model_not_found":
        message = f"model: {problem.model}"
    if message is None:
        message = _MESSAGES.get(problem.word) or message_of(problem)
    inner: Json = {"type": kind, "message": message}
    code = problem.code or ("enforced_spend_limit_reached" if problem.word == "quota" else None)
    if code is not None and code != "missing_required_parameter":
        inner["details"] = {"error_code": code}
    return {"type": "error", "error": inner, "request_id": "req_simulator"}


def _status(problem: Problem) -> int:
    return problem.status or _ERRORS[problem.word][0]


def _headers(serial: int) -> Mapping[str, str]:
    return {
        "request-id": f"req_sim{serial:06d}",
        "anthropic-organization-id": "org_simulator",
        "anthropic-ratelimit-requests-limit": "4000",
        "anthropic-ratelimit-requests-remaining": "3999",
    }


def _forced(choice: Any) -> str | None:
    if not isinstance(choice, dict):
        return None
    return {"any": "*", "tool": choice.get("name")}.get(str(choice.get("type")))


def _is_user(message: Json) -> bool:
    return message.get("role") == "user"


def _check(body: Json, version: str | None) -> None:
    if version is None:
        raise missing("anthropic-version", "anthropic-version: header is required")
    for name in ("model", "messages", "max_tokens"):
        if not body.get(name) and body.get(name) != 0:
            raise missing(name, f"{name}: Field required")
    if version >= _VERSION_WITHOUT_SAMPLING:
        for name in ("temperature", "top_p", "top_k"):
            if name in body:
                message = f"{name}: not supported with anthropic-version {version}"
                raise Rejected(Problem(word="bad_request", param=name, message=message))


def _read(request: HttpRequest) -> Ask:
    check_key(request.headers.get("x-api-key") or bearer(request.headers))
    body = read_json(request)
    _check(body, request.headers.get("anthropic-version"))
    tools = [tool for tool in body.get("tools") or [] if "input_schema" in tool]
    return Ask(
        model=body["model"],
        stream=bool(body.get("stream")),
        body=body,
        prompt=last_text(body["messages"], _is_user, lambda message: " ".join(texts(message))),
        input_tokens=count_words(body.get("system"), body["messages"]),
        prefill=last_assistant_text(body["messages"]),
        tools=tuple(OfferedTool(name=tool["name"], schema=tool["input_schema"]) for tool in tools),
        forced_tool=_forced(body.get("tool_choice")),
        stops=as_stops(body.get("stop_sequences")),
        token_limit=body["max_tokens"],
    )


def _input_usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input - usage.cached - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
    }


def _usage(usage: Usage) -> Json:
    details = {"output_tokens_details": {"thinking_tokens": usage.reasoning}} if usage.reasoning else {}
    return {**_input_usage(usage), "output_tokens": usage.output, **details}


def _blocks(answer: Answer) -> list[tuple[Json, Json, list[Json]]]:
    """Each block as its whole, its shell at the start of a stream, and its deltas."""
    blocks: list[tuple[Json, Json, list[Json]]] = []
    if answer.reasoning:
        signature = f"c2ltdWxhdG9y{answer.serial:06d}"
        deltas: list[Json] = [{"type": "thinking_delta", "thinking": piece} for piece in answer.reasoning]
        deltas.append({"type": "signature_delta", "signature": signature})
        whole = {"type": "thinking", "thinking": answer.full_reasoning, "signature": signature}
        blocks.append((whole, {"type": "thinking", "thinking": "", "signature": ""}, deltas))
    text = answer.text + answer.refusal
    if text:
        deltas = [{"type": "text_delta", "text": piece} for piece in text]
        blocks.append(({"type": "text", "text": "".join(text)}, {"type": "text", "text": ""}, deltas))
    for call in answer.calls:
        shell: Json = {"type": "tool_use", "id": call.id.replace("call_", "toolu_"), "name": call.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *call.fragments)]
        blocks.append(({**shell, "input": call.arguments_object}, shell, deltas))
    return blocks


def _message(answer: Answer) -> Json:
    details = {"type": "refusal", "category": None, "explanation": None}
    return {
        "id": f"msg_sim{answer.serial:06d}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": _FINISH[answer.finish],
        "stop_sequence": answer.stop_sequence,
        "stop_details": details if _FINISH[answer.finish] == "refusal" else None,
    }


def _unary(ask: Ask, answer: Answer) -> Json:
    del ask
    body = {**_message(answer), "content": [whole for whole, _, _ in _blocks(answer)]}
    if answer.usage is not None:
        body["usage"] = _usage(answer.usage)
    return body


def _event(data: Json, role: Any = "opening") -> Frame:
    return Frame(event=data["type"], data=data, role=role)


def _stream(ask: Ask, answer: Answer) -> list[Frame]:
    del ask
    message = _message(answer)
    start = {**message, "stop_reason": None, "stop_sequence": None, "stop_details": None}
    if answer.usage is not None:
        start["usage"] = {**_input_usage(answer.usage), "output_tokens": 1}
    frames = [_event({"type": "message_start", "message": start})]
    for index, (_, shell, deltas) in enumerate(_blocks(answer)):
        role = "content" if shell["type"] == "tool_use" else "opening"
        frames.append(_event({"type": "content_block_start", "index": index, "content_block": shell}, role))
        if index == 0:
            frames.append(_event({"type": "ping"}))
        for delta in deltas:
            is_content = bool(delta.get("thinking") or delta.get("text") or delta.get("partial_json"))
            role = "content" if is_content else "opening"
            frames.append(_event({"type": "content_block_delta", "index": index, "delta": delta}, role))
        frames.append(_event({"type": "content_block_stop", "index": index}))
    end = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    last: Json = {"type": "message_delta", "delta": end}
    if answer.usage is not None:
        last["usage"] = _usage(answer.usage)
    return [*frames, _event(last, "finish"), _event({"type": "message_stop"}, "terminator")]


def _error_frames(problem: Problem) -> list[Frame]:
    return [Frame(event="error", data=_error(problem), role="finish")]


DIALECT = Dialect(
    name="anthropic",
    path=path_pattern("v1", "messages"),
    base_path="",
    read=_read,
    unary=_unary,
    stream=_stream,
    status=_status,
    error=_error,
    error_frames=_error_frames,
    headers=_headers,
    unknown_event=Frame(event="future_event", data={"type": "future_event", "note": "an event nobody knows"}),
    ping=_event({"type": "ping"}),
)
