"""OpenAI Responses, as the provider writes it. Errors and headers are those of the same provider's Chat API."""

from __future__ import annotations

from typing import Any

from fluxrpc.simulator.answer import Answer, Call
from fluxrpc.simulator.ask import (
    Ask,
    HttpRequest,
    Json,
    OfferedTool,
    Problem,
    bearer,
    check_key,
    last_assistant_text,
    last_text,
    missing,
    read_json,
)
from fluxrpc.simulator.dialects import openai
from fluxrpc.simulator.dialects.base import Dialect, message_of, path_pattern
from fluxrpc.simulator.frames import Frame
from fluxrpc.simulator.script import Usage
from fluxrpc.simulator.text import count_words, texts

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def _forced(choice: Any) -> str | None:
    if choice == "required":
        return "*"
    if isinstance(choice, dict) and choice.get("type") == "function":
        return str(choice["name"])
    return None


def _is_user(item: Json) -> bool:
    return item.get("role") == "user"


def _read(request: HttpRequest) -> Ask:
    check_key(bearer(request.headers))
    body = read_json(request)
    if not body.get("model"):
        raise missing("model", "Missing required parameter: 'model'.")
    source = body.get("input")
    if not source:
        raise missing("input", "Missing required parameter: 'input'.")
    prompt = source if isinstance(source, str) else last_text(source, _is_user, lambda item: " ".join(texts(item)))
    tools = [tool for tool in body.get("tools") or [] if tool.get("type") == "function"]
    return Ask(
        model=body["model"],
        stream=bool(body.get("stream")),
        body=body,
        prompt=prompt,
        input_tokens=count_words(body.get("instructions"), source),
        prefill="" if isinstance(source, str) else last_assistant_text(source),
        tools=tuple(OfferedTool(name=tool["name"], schema=tool.get("parameters") or {}) for tool in tools),
        forced_tool=_forced(body.get("tool_choice")),
        token_limit=body.get("max_output_tokens"),
    )


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }


def _envelope(ask: Ask, answer: Answer) -> Json:
    """The response without outcome, settings of the request echoed."""
    body = ask.body
    return {
        "id": f"resp_sim{answer.serial:06d}",
        "object": "response",
        "created_at": answer.created,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": answer.model,
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": body.get("reasoning", {"effort": None, "summary": None}),
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text", {"format": {"type": "text"}}),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation", "disabled"),
        "usage": None,
        "metadata": body.get("metadata", {}),
    }


def _part(kind: str, text: str) -> Json:
    if kind == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


class _Writer:
    """Collects the events of one stream and the output items that they amount to."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.frames: list[Frame] = []
        self.output: list[Json] = []

    def emit(self, kind: str, role: Any = "opening", **fields: Any) -> None:
        """One event with the next sequence number."""
        data = {"type": kind, "sequence_number": len(self.frames), **fields}
        self.frames.append(Frame(event=kind, data=data, role=role))

    def reasoning(self) -> None:
        """A reasoning item with one summary part."""
        index = len(self.output)
        text = self.answer.full_reasoning
        item: Json = {"id": f"rs_sim{self.answer.serial:06d}", "type": "reasoning", "summary": []}
        place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
        self.emit("response.output_item.added", output_index=index, item=item)
        empty = {"type": "summary_text", "text": ""}
        self.emit("response.reasoning_summary_part.added", **place, part=empty)
        for piece in self.answer.reasoning:
            self.emit("response.reasoning_summary_text.delta", "content", **place, delta=piece)
        whole = {"type": "summary_text", "text": text}
        self.emit("response.reasoning_summary_text.done", **place, text=text)
        self.emit("response.reasoning_summary_part.done", **place, part=whole)
        self.done({**item, "summary": [whole], "encrypted_content": "c2ltdWxhdG9y"})

    def message(self) -> None:
        """A message item with one text or refusal part."""
        kind = "refusal" if self.answer.refusal else "output_text"
        pieces = self.answer.refusal or self.answer.text
        text = "".join(pieces)
        index = len(self.output)
        item: Json = {
            "id": f"msg_sim{self.answer.serial:06d}", "type": "message", "role": "assistant",
            "status": "in_progress", "content": [],
        }  # fmt: skip
        place = {"item_id": item["id"], "output_index": index, "content_index": 0}
        extra: Json = {} if kind == "refusal" else {"logprobs": []}
        self.emit("response.output_item.added", output_index=index, item=item)
        self.emit("response.content_part.added", **place, part=_part(kind, ""))
        for piece in pieces:
            self.emit(f"response.{kind}.delta", "content", **place, delta=piece, **extra)
        whole = {"refusal": text} if kind == "refusal" else {"text": text}
        self.emit(f"response.{kind}.done", **place, **whole, **extra)
        self.emit("response.content_part.done", **place, part=_part(kind, text))
        status = "incomplete" if self.answer.finish in _INCOMPLETE else "completed"
        self.done({**item, "status": status, "content": [_part(kind, text)]})

    def call(self, call: Call) -> None:
        """A function call item."""
        index = len(self.output)
        item: Json = {
            "id": call.id.replace("call_", "fc_"), "type": "function_call", "status": "in_progress",
            "call_id": call.id, "name": call.name, "arguments": "",
        }  # fmt: skip
        place = {"item_id": item["id"], "output_index": index}
        self.emit("response.output_item.added", "content", output_index=index, item=item)
        for piece in call.fragments:
            self.emit("response.function_call_arguments.delta", "content", **place, delta=piece)
        done = {"name": call.name, "arguments": call.arguments}
        self.emit("response.function_call_arguments.done", **place, **done)
        self.done({**item, "status": "completed", "arguments": call.arguments})

    def done(self, item: Json) -> None:
        """The item is complete."""
        self.emit("response.output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)


def _write(ask: Ask, answer: Answer) -> tuple[list[Frame], Json]:
    """The stream, and the response that it ends with."""
    writer = _Writer(answer)
    envelope = _envelope(ask, answer)
    writer.emit("response.created", response=envelope)
    writer.emit("response.in_progress", response=envelope)
    if answer.reasoning:
        writer.reasoning()
    if answer.text or answer.refusal:
        writer.message()
    for call in answer.calls:
        writer.call(call)
    reason = _INCOMPLETE.get(answer.finish)
    status = "incomplete" if reason else "completed"
    final = {
        **envelope,
        "status": status,
        "completed_at": None if reason else answer.created,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": writer.output,
        "usage": _usage(answer.usage) if answer.usage is not None else None,
    }
    writer.emit(f"response.{status}", "terminator", response=final)
    return writer.frames, final


def _failed(ask: Ask, answer: Answer, problem: Problem) -> Frame:
    inner = {"code": "rate_limit_exceeded" if problem.word == "rate_limit" else "server_error"}
    error = {**inner, "message": message_of(problem)}
    response = {**_envelope(ask, answer), "status": "failed", "error": error}
    data = {"type": "response.failed", "sequence_number": 999, "response": response}
    return Frame(event="response.failed", data=data, role="finish")


def _unary(ask: Ask, answer: Answer) -> Json:
    return _write(ask, answer)[1]


def _stream(ask: Ask, answer: Answer) -> list[Frame]:
    return _write(ask, answer)[0]


def _error(problem: Problem) -> Json:
    if problem.word == "context_length" and problem.param is None:
        message = "Your input exceeds the context window of this model. Please adjust your input and try again."
        inner = openai.error(problem)["error"]
        return {"error": {**inner, "param": "input", "message": problem.message or message}}
    return openai.error(problem)


def _error_frames(problem: Problem) -> list[Frame]:
    """Flat as the types say and nested as the service does."""
    inner = openai.error(problem)["error"]
    code = inner["code"] or "server_error"
    flat = {"code": code, "message": message_of(problem), "param": inner["param"], "sequence_number": 999}
    return [Frame(event="error", data={"type": "error", **flat, "error": {**inner, "code": code}}, role="finish")]


DIALECT = Dialect(
    name="responses",
    path=path_pattern("v1", "responses"),
    base_path="/v1",
    read=_read,
    unary=_unary,
    stream=_stream,
    status=openai.status,
    error=_error,
    error_frames=_error_frames,
    headers=openai.headers,
    failed=_failed,
    unknown_event=Frame(event="response.future_event", data={"type": "response.future_event", "sequence_number": 998}),
)
