"""OpenAI Chat Completions, as the provider writes it.

Reasoning, which OpenAI itself never returns here, uses the `reasoning_content` field of compatible servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fluxrpc.simulator.answer import Answer, Call
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
    "stop": "stop", "length": "length", "stop_sequence": "stop", "tool_calls": "tool_calls",
    "refusal": "stop", "content_filter": "content_filter",
}  # fmt: skip

_Words = tuple[int, str, str | None]
_ERRORS: Mapping[str, _Words] = {
    "bad_request": (400, "invalid_request_error", None),
    "no_key": (401, "invalid_request_error", None),
    "bad_key": (401, "invalid_request_error", "invalid_api_key"),
    "billing": (402, "insufficient_quota", "insufficient_quota"),
    "quota": (429, "insufficient_quota", "insufficient_quota"),
    "forbidden": (403, "invalid_request_error", "unsupported_country_region_territory"),
    "model_not_found": (404, "invalid_request_error", "model_not_found"),
    "not_found": (404, "invalid_request_error", None),
    "timeout": (504, "server_error", None),
    "conflict": (409, "conflict", None),
    "too_large": (413, "invalid_request_error", None),
    "unprocessable": (422, "invalid_request_error", None),
    "rate_limit": (429, "requests", "rate_limit_exceeded"),
    "context_length": (400, "invalid_request_error", "context_length_exceeded"),
    "content_filter": (400, "invalid_request_error", "content_policy_violation"),
    "server_error": (500, "server_error", None),
    "overloaded": (503, "service_unavailable_error", "server_is_overloaded"),
}
_TOO_LONG = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 210000 tokens."
    " Please reduce the length of the messages."
)


def error(problem: Problem) -> Json:
    """The error body, shared with the Responses protocol."""
    _, kind, code = _ERRORS[problem.word]
    message = _TOO_LONG if problem.word == "context_length" and problem.message is None else message_of(problem)
    if problem.word == "context_length" and problem.param is None:
        param: str | None = "messages"
    else:
        param = problem.param
    body = {"message": message, "type": kind, "param": param, "code": problem.code or code}
    return {"error": body}


def status(problem: Problem) -> int:
    """The HTTP status of a problem."""
    return problem.status or _ERRORS[problem.word][0]


def headers(serial: int) -> Mapping[str, str]:
    """The response headers that clients look at."""
    return {
        "x-request-id": f"req_sim{serial:06d}",
        "openai-processing-ms": "1",
        "openai-version": "2020-10-01",
        "x-ratelimit-limit-requests": "10000",
        "x-ratelimit-remaining-requests": "9999",
        "x-ratelimit-reset-requests": "6ms",
    }


def _is_user(message: Json) -> bool:
    return message.get("role") == "user"


def _tools(body: Json) -> tuple[OfferedTool, ...]:
    functions = [tool["function"] for tool in body.get("tools") or [] if tool.get("type") == "function"]
    return tuple(OfferedTool(name=tool["name"], schema=tool.get("parameters", {})) for tool in functions)


def _forced(choice: Any) -> str | None:
    if choice == "required":
        return "*"
    if isinstance(choice, dict) and choice.get("type") == "function":
        return str(choice["function"]["name"])
    return None


def _read(request: HttpRequest) -> Ask:
    check_key(bearer(request.headers))
    body = read_json(request)
    if not body.get("model"):
        raise missing("model", "you must provide a model parameter")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise missing("messages", "Missing required parameter: 'messages'.")
    return Ask(
        model=body["model"],
        stream=bool(body.get("stream")),
        body=body,
        prompt=last_text(messages, _is_user, lambda message: " ".join(texts(message))),
        input_tokens=count_words(messages),
        prefill=last_assistant_text(messages),
        tools=_tools(body),
        forced_tool=_forced(body.get("tool_choice")),
        stops=as_stops(body.get("stop")),
        token_limit=body.get("max_completion_tokens") or body.get("max_tokens"),
        choices=body.get("n") or 1,
    )


def _usage(usage: Usage, choices: int) -> Json:
    output = usage.output * choices
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": output,
        "total_tokens": usage.input + output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning * choices},
    }


def _call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _message(answer: Answer) -> Json:
    content = answer.full_text if answer.text or not (answer.calls or answer.refusal) else None
    message: Json = {"role": "assistant", "content": content, "refusal": answer.full_refusal or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.full_reasoning
    if answer.calls:
        message["tool_calls"] = [_call(call) for call in answer.calls]
    return message


def _unary(ask: Ask, answer: Answer) -> Json:
    finish = _FINISH[answer.finish]
    message = _message(answer)
    body: Json = {
        "id": f"chatcmpl-sim{answer.serial:06d}",
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [
            {"index": index, "message": message, "logprobs": None, "finish_reason": finish}
            for index in range(ask.choices)
        ],
        "system_fingerprint": "fp_simulator",
        "service_tier": "default",
    }
    if answer.usage is not None:
        body["usage"] = _usage(answer.usage, ask.choices)
    return body


def _deltas(answer: Answer) -> Iterator[tuple[Json, bool]]:
    yield {"role": "assistant", "content": None if answer.calls and not answer.text else ""}, False
    for piece in answer.reasoning:
        yield {"reasoning_content": piece}, True
    for piece in answer.text:
        yield {"content": piece}, True
    for piece in answer.refusal:
        yield {"refusal": piece}, True
    for index, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}, True
        for piece in call.fragments:
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, True


def _stream(ask: Ask, answer: Answer) -> list[Frame]:
    wants_usage = bool((ask.body.get("stream_options") or {}).get("include_usage"))
    common: Json = {
        "id": f"chatcmpl-sim{answer.serial:06d}",
        "object": "chat.completion.chunk",
        "created": answer.created,
        "model": answer.model,
        "service_tier": "default",
        "system_fingerprint": "fp_simulator",
    }
    if wants_usage:
        common = {**common, "usage": None}

    def chunk(index: int, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**common, "choices": [choice]}

    choices = range(ask.choices)
    frames = [
        Frame(data=chunk(index, delta), role="content" if is_content else "opening")
        for delta, is_content in _deltas(answer)
        for index in choices
    ]
    frames += [Frame(data=chunk(index, {}, _FINISH[answer.finish]), role="finish") for index in choices]
    if wants_usage and answer.usage is not None:
        last = {**common, "choices": [], "usage": _usage(answer.usage, ask.choices)}
        frames.append(Frame(data=last, role="usage"))
    return [*frames, Frame(data="[DONE]", role="terminator")]


def _error_frames(problem: Problem) -> list[Frame]:
    return [Frame(data=error(problem), role="finish")]


DIALECT = Dialect(
    name="openai",
    path=path_pattern("v1", "chat/completions"),
    base_path="/v1",
    read=_read,
    unary=_unary,
    stream=_stream,
    status=status,
    error=error,
    error_frames=_error_frames,
    headers=headers,
    unknown_event=Frame(data={"object": "simulator.unknown", "note": "an event nobody knows"}),
)
