"""Cohere v2 Chat, as the provider writes it."""

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
    "stop": "COMPLETE", "length": "MAX_TOKENS", "stop_sequence": "STOP_SEQUENCE", "tool_calls": "TOOL_CALL",
    "refusal": "COMPLETE", "content_filter": "ERROR",
}  # fmt: skip
_STATUS = {
    "bad_request": 400, "no_key": 401, "bad_key": 401, "billing": 402, "quota": 429, "forbidden": 403,
    "model_not_found": 404, "not_found": 404, "timeout": 504, "conflict": 409, "too_large": 413,
    "unprocessable": 422, "rate_limit": 429, "context_length": 400, "content_filter": 498,
    "server_error": 500, "overloaded": 503,
}  # fmt: skip
_MESSAGES = {
    "no_key": "no api key supplied",
    "bad_key": "invalid api token",
    "context_length": "too many tokens: total number of tokens in the prompt cannot exceed 128000"
    " - received 210000. Try using a shorter prompt.",
    "quota": "You are using a Trial key, which is limited to 1000 API calls / month.",
    "rate_limit": "Please wait and try again later: the rate limit of this key is reached.",
}
_PROMPT_TEMPLATE_TOKENS = 60  # `tokens` counts the templated prompt, `billed_units` does not


def _status(problem: Problem) -> int:
    return problem.status or _STATUS[problem.word]


def _message_text(problem: Problem) -> str:
    if problem.message is not None:
        return problem.message
    if problem.word == "model_not_found":
        return f"model '{problem.model}' not found, make sure the correct model ID was used"
    return _MESSAGES.get(problem.word) or message_of(problem)


def _error(problem: Problem) -> Json:
    return {"id": "00000000-0000-4000-8000-00000000e440", "message": _message_text(problem)}


def _headers(serial: int) -> Mapping[str, str]:
    return {"x-debug-trace-id": f"sim{serial:06d}", "x-api-warning": "", "x-endpoint-monthly-call-limit": "1000"}


def _is_user(message: Json) -> bool:
    return message.get("role") == "user"


def _read(request: HttpRequest) -> Ask:
    check_key(bearer(request.headers))
    body = read_json(request)
    if not body.get("model"):
        raise missing("model", "invalid request: model is required")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise missing("messages", "invalid request: messages must have at least one element")
    functions = [tool["function"] for tool in body.get("tools") or []]
    return Ask(
        model=body["model"],
        stream=bool(body.get("stream")),
        body=body,
        prompt=last_text(messages, _is_user, lambda message: " ".join(texts(message))),
        input_tokens=count_words(messages),
        prefill=last_assistant_text(messages),
        tools=tuple(OfferedTool(name=tool["name"], schema=tool.get("parameters", {})) for tool in functions),
        forced_tool="*" if body.get("tool_choice") == "REQUIRED" else None,
        stops=as_stops(body.get("stop_sequences")),
        token_limit=body.get("max_tokens"),
    )


def _usage(usage: Usage) -> Json:
    return {
        "billed_units": {"input_tokens": float(usage.input), "output_tokens": float(usage.output)},
        "tokens": {
            "input_tokens": float(usage.input + _PROMPT_TEMPLATE_TOKENS),
            "output_tokens": float(usage.output),
        },
        "cached_tokens": float(usage.cached),
    }


def _id(answer: Answer) -> str:
    return f"00000000-0000-4000-8000-{answer.serial:012d}"


def _contents(answer: Answer) -> list[tuple[str, tuple[str, ...]]]:
    spoken = answer.text + answer.refusal
    return [(kind, pieces) for kind, pieces in (("thinking", answer.reasoning), ("text", spoken)) if pieces]


def _unary(ask: Ask, answer: Answer) -> Json:
    del ask
    message: Json = {"role": "assistant"}
    if contents := _contents(answer):
        message["content"] = [{"type": kind, kind: "".join(pieces)} for kind, pieces in contents]
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.calls
        ]
        message["tool_plan"] = "I will use a tool."
    body: Json = {"id": _id(answer), "finish_reason": _FINISH[answer.finish], "message": message}
    if answer.usage is not None:
        body["usage"] = _usage(answer.usage)
    return body


def _event(kind: str, role: Any = "opening", **fields: Any) -> Frame:
    return Frame(event=kind, data={"type": kind, **fields}, role=role)


def _content_frames(answer: Answer) -> list[Frame]:
    frames = []
    for index, (kind, pieces) in enumerate(_contents(answer)):
        start = {"message": {"content": {"type": kind, kind: ""}}}
        frames.append(_event("content-start", index=index, delta=start))
        for piece in pieces:
            delta = {"message": {"content": {kind: piece}}}
            frames.append(_event("content-delta", "content", index=index, delta=delta))
        frames.append(_event("content-end", index=index))
    return frames


def _call_frames(answer: Answer) -> list[Frame]:
    frames = []
    for index, call in enumerate(answer.calls):
        shell = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        start = {"message": {"tool_calls": shell}}
        frames.append(_event("tool-call-start", "content", index=index, delta=start))
        for piece in call.fragments:
            delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
            frames.append(_event("tool-call-delta", "content", index=index, delta=delta))
        frames.append(_event("tool-call-end", index=index))
    return frames


def _stream(ask: Ask, answer: Answer) -> list[Frame]:
    del ask
    opening: Json = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    frames = [_event("message-start", id=_id(answer), delta={"message": opening})]
    if answer.calls:
        frames += [
            _event("tool-plan-delta", "content", delta={"message": {"tool_plan": piece}})
            for piece in ("I will", " use", " a tool.")
        ]
    frames += _call_frames(answer)
    frames += _content_frames(answer)
    end: Json = {"finish_reason": _FINISH[answer.finish]}
    if answer.usage is not None:
        end["usage"] = _usage(answer.usage)
    return [*frames, _event("message-end", "terminator", delta=end)]


def _error_frames(problem: Problem) -> list[Frame]:
    delta = {"finish_reason": "ERROR", "error": _message_text(problem)}
    return [_event("message-end", "finish", delta=delta)]


DIALECT = Dialect(
    name="cohere",
    path=path_pattern("v2", "chat"),
    base_path="/v2",
    read=_read,
    unary=_unary,
    stream=_stream,
    status=_status,
    error=_error,
    error_frames=_error_frames,
    headers=_headers,
    unknown_event=_event("future-event", note="an event nobody knows"),
)
