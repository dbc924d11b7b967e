"""Gemini generateContent and streamGenerateContent (Developer API), as the provider writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from fluxrpc.simulator.answer import Answer
from fluxrpc.simulator.ask import (
    Ask,
    HttpRequest,
    Json,
    OfferedTool,
    Problem,
    Rejected,
    as_stops,
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

_PATH = path_pattern("v1beta|v1", r"(?:models|tunedModels)/[^:]+:(?:generateContent|streamGenerateContent)")
_TARGET = re.compile(r".*/(?:models|tunedModels)/([^:]+):(\w+)")
_FINISH = {
    "stop": "STOP", "length": "MAX_TOKENS", "stop_sequence": "STOP", "tool_calls": "STOP",
    "refusal": "SAFETY", "content_filter": "PROHIBITED_CONTENT",
}  # fmt: skip
_ERRORS: Mapping[str, tuple[int, str]] = {
    "bad_request": (400, "INVALID_ARGUMENT"),
    "no_key": (401, "UNAUTHENTICATED"),
    "bad_key": (401, "UNAUTHENTICATED"),
    "billing": (402, "FAILED_PRECONDITION"),
    "quota": (429, "RESOURCE_EXHAUSTED"),
    "forbidden": (403, "PERMISSION_DENIED"),
    "model_not_found": (404, "NOT_FOUND"),
    "not_found": (404, "NOT_FOUND"),
    "timeout": (504, "DEADLINE_EXCEEDED"),
    "conflict": (409, "ABORTED"),
    "too_large": (413, "INVALID_ARGUMENT"),
    "unprocessable": (422, "INVALID_ARGUMENT"),
    "rate_limit": (429, "RESOURCE_EXHAUSTED"),
    "context_length": (400, "INVALID_ARGUMENT"),
    "content_filter": (400, "INVALID_ARGUMENT"),
    "server_error": (500, "INTERNAL"),
    "overloaded": (503, "UNAVAILABLE"),
}
_MESSAGES = {
    "bad_key": "API key not valid. Please pass a valid API key.",
    "context_length": "The input token count (1210000) exceeds the maximum number of tokens allowed (1048576).",
    "rate_limit": "Resource has been exhausted (e.g. check quota).",
}
_RPC = "type.googleapis.com/google.rpc."


def _status(problem: Problem) -> int:
    return problem.status or _ERRORS[problem.word][0]


def _details(problem: Problem) -> list[Json]:
    details: list[Json] = []
    if problem.word == "bad_key":
        details.append({"@type": _RPC + "ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"})
    if problem.word == "quota":
        quota = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
        details.append({"@type": _RPC + "QuotaFailure", "violations": [{"quotaId": quota}]})
    if problem.param is not None:
        violation = {"field": problem.param, "description": message_of(problem)}
        details.append({"@type": _RPC + "BadRequest", "fieldViolations": [violation]})
    if problem.retry_info_seconds is not None:
        details.append({"@type": _RPC + "RetryInfo", "retryDelay": f"{problem.retry_info_seconds:g}s"})
    return details


def _error(problem: Problem) -> Json:
    _, name = _ERRORS[problem.word]
    status = _status(problem)
    if problem.word == "bad_key" and status == 400:
        name = "INVALID_ARGUMENT"
    message = problem.message
    if message is None and problem.word == "model_not_found":
        message = f"models/{problem.model} is not found for API version v1beta."
    if message is None:
        message = _MESSAGES.get(problem.word) or message_of(problem)
    body: Json = {"code": status, "message": message, "status": name}
    if details := _details(problem):
        body["details"] = details
    return {"error": body}


def _headers(serial: int) -> Mapping[str, str]:
    return {"server": "scaffolding on HTTPServer2", "x-gemini-service-tier": "standard", "x-sim-serial": str(serial)}


def _pick(body: Json, camel: str) -> Any:
    """A field by its camel or its snake name: the server takes both."""
    snake = re.sub(r"[A-Z]", lambda match: "_" + match.group().lower(), camel)
    return body.get(camel, body.get(snake))


def _tools(body: Json) -> tuple[OfferedTool, ...]:
    declared = [item for tool in body.get("tools") or [] for item in _pick(tool, "functionDeclarations") or []]
    return tuple(
        OfferedTool(name=item["name"], schema=_pick(item, "parametersJsonSchema") or item.get("parameters") or {})
        for item in declared
    )


def _forced(body: Json) -> str | None:
    config = _pick(_pick(body, "toolConfig") or {}, "functionCallingConfig") or {}
    if config.get("mode") != "ANY":
        return None
    names = _pick(config, "allowedFunctionNames") or ["*"]
    return str(names[0])


def _is_user(content: Json) -> bool:
    return bool(content.get("role", "user") == "user")


def _read(request: HttpRequest) -> Ask:
    query = parse_qs(request.query)
    check_key(request.headers.get("x-goog-api-key") or query.get("key", [""])[0])
    body = read_json(request)
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        raise missing("contents", "* GenerateContentRequest.contents: contents is not specified")
    if any(not content.get("parts") for content in contents):
        message = "* GenerateContentRequest.contents: contents.parts must not be empty."
        raise Rejected(Problem(word="bad_request", param="contents", message=message))
    match = _TARGET.fullmatch(request.path)
    model, method = match.groups() if match else ("", "")
    config = _pick(body, "generationConfig") or {}
    return Ask(
        model=model,
        stream=method == "streamGenerateContent",
        body=body,
        prompt=last_text(contents, _is_user, lambda content: " ".join(texts(content))),
        input_tokens=count_words(_pick(body, "systemInstruction"), contents),
        prefill=last_assistant_text(contents),
        tools=_tools(body),
        forced_tool=_forced(body),
        stops=as_stops(_pick(config, "stopSequences")),
        token_limit=_pick(config, "maxOutputTokens"),
        choices=_pick(config, "candidateCount") or 1,
        sse=method == "generateContent" or query.get("alt") == ["sse"],
    )


def _usage(usage: Usage, choices: int) -> Json:
    candidates = (usage.output - usage.reasoning) * choices
    body = {
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": candidates,
        "thoughtsTokenCount": usage.reasoning * choices,
        "totalTokenCount": usage.input + candidates + usage.reasoning * choices,
    }
    return {name: count for name, count in body.items() if count}


def _common(answer: Answer) -> Json:
    return {"modelVersion": answer.model, "responseId": f"sim{answer.serial:06d}"}


def _call_parts(answer: Answer) -> list[Json]:
    parts: list[Json] = []
    for index, call in enumerate(answer.calls):
        part: Json = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments_object}}
        if index == 0:  # the first call of a step carries the signature, its siblings none
            part["thoughtSignature"] = "c2ltdWxhdG9y"
        parts.append(part)
    return parts


def _parts(answer: Answer) -> list[Json]:
    parts: list[Json] = []
    if answer.reasoning:
        parts.append({"text": answer.full_reasoning, "thought": True})
    if answer.text:
        parts.append({"text": answer.full_text})
    return [*parts, *_call_parts(answer)]


def _increments(answer: Answer) -> list[Json]:
    thoughts: list[Json] = [{"text": piece, "thought": True} for piece in answer.reasoning]
    return [*thoughts, *({"text": piece} for piece in answer.text), *_call_parts(answer)]


def _blocked(answer: Answer) -> Json:
    body: Json = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **_common(answer)}
    if answer.usage is not None:
        body["usageMetadata"] = {
            "promptTokenCount": answer.usage.input,
            "totalTokenCount": answer.usage.input,
        }
    return body


def _is_blocked(answer: Answer) -> bool:
    return answer.finish == "content_filter" and not answer.text


def _unary(ask: Ask, answer: Answer) -> Json:
    if _is_blocked(answer):
        return _blocked(answer)
    content: Json = {"role": "model"}
    if parts := _parts(answer):
        content["parts"] = parts
    extra = {"finishMessage": answer.full_refusal} if answer.refusal else {}
    candidate = {"content": content, "finishReason": _FINISH[answer.finish], **extra}
    body: Json = {"candidates": [{**candidate, "index": index} for index in range(ask.choices)], **_common(answer)}
    if answer.usage is not None:
        body["usageMetadata"] = _usage(answer.usage, ask.choices)
    return body


def _stream(ask: Ask, answer: Answer) -> list[Frame]:
    if _is_blocked(answer):
        return [Frame(data=_blocked(answer), role="finish")]
    prompt_usage: Json = {}
    if answer.usage is not None:
        counts = {"promptTokenCount": answer.usage.input, "totalTokenCount": answer.usage.input}
        prompt_usage = {"usageMetadata": counts}
    frames = []
    for part in _increments(answer):
        content = {"role": "model", "parts": [part]}
        frames += [
            Frame(
                data={"candidates": [{"content": content, "index": index}], **prompt_usage, **_common(answer)},
                role="content",
            )
            for index in range(ask.choices)
        ]
    extra = {"finishMessage": answer.full_refusal} if answer.refusal else {}
    content = {"role": "model", "parts": [{"text": ""}]}
    candidate = {"content": content, "finishReason": _FINISH[answer.finish], **extra}
    for index in range(ask.choices):
        last = {"candidates": [{**candidate, "index": index}], **_common(answer)}
        if answer.usage is not None:
            last["usageMetadata"] = _usage(answer.usage, ask.choices)
        frames.append(Frame(data=last, role="finish"))
    return frames


def _error_frames(problem: Problem) -> list[Frame]:
    return [Frame(data=_error(problem), role="finish")]


DIALECT = Dialect(
    name="gemini",
    path=_PATH,
    base_path="/v1beta",
    read=_read,
    unary=_unary,
    stream=_stream,
    status=_status,
    error=_error,
    error_frames=_error_frames,
    headers=_headers,
    unknown_event=Frame(data={"futureField": {"note": "an event nobody knows"}}),
)
