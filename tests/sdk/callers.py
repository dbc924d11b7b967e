"""The official SDKs as callers: each scenario asked as a user of that SDK would, the answer read as that user does."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import cohere
import httpx
import openai
from google import genai
from google.genai import types

from tests.sdk.scenarios import PNG, REFUSAL, SCHEMA, Meaning, Scenario

TOOL_NAMES = ("weather", "clock")
PROMPT = "Hello model"
DATA_URI = f"data:image/png;base64,{PNG}"
_LIMIT = 2048


def _compact(arguments: Any) -> str:
    value = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    return json.dumps(value, sort_keys=True)


def _meaning(finishes: dict[str, str], word: Any, **fields: Any) -> Meaning:
    finish = finishes.get(str(word), "other")
    if fields.get("text") == REFUSAL and finish == "stop":
        finish = "refusal"  # protocols without a word for it: the words of the refusal are the answer
    return Meaning(finish=finish, **fields)


# --- OpenAI Chat Completions ---


def _chat_messages(scenario: Scenario) -> list[Any]:
    user: Any = {"role": "user", "content": PROMPT}
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
    return {
        "system": [{"role": "system", "content": "Be brief."}, user],
        "multi-turn": [
            {"role": "user", "content": "First question"},
            {"role": "assistant", "content": "First answer"},
            user,
        ],
        "image": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": PROMPT},
                    {"type": "image_url", "image_url": {"url": DATA_URI}},
                ],
            }
        ],
        "tool result": [
            user,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "It rains"},
        ],
    }.get(scenario.name, [user])


def _chat_request(scenario: Scenario, model: str) -> dict[str, Any]:
    request: dict[str, Any] = {"model": model, "messages": _chat_messages(scenario), "max_completion_tokens": _LIMIT}
    if scenario.tools:
        request["tools"] = [
            {"type": "function", "function": {"name": name, "description": "d", "parameters": SCHEMA}}
            for name in TOOL_NAMES
        ]
    if scenario.name == "json schema":
        schema = {"name": "place", "schema": SCHEMA, "strict": True}
        request["response_format"] = {"type": "json_schema", "json_schema": schema}
    if scenario.name == "reasoning":
        request["reasoning_effort"] = "low"
    return request


_CHAT_FINISHES = {"stop": "stop", "length": "length", "tool_calls": "calls", "content_filter": "refusal"}


async def ask_openai(url: str, scenario: Scenario, model: str, *, stream: bool) -> Meaning:
    """Chat Completions, `create` and `stream`."""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        request = _chat_request(scenario, model)
        answer: Any
        if stream and scenario.name in {"length", "refusal"}:  # the helper raises where an answer is not whole
            return _gather_chat([chunk async for chunk in await client.chat.completions.create(**request, stream=True)])
        if stream:
            async with client.chat.completions.stream(**request) as events:
                async for _ in events:
                    pass
                answer = await events.get_final_completion()
        else:
            answer = await client.chat.completions.create(**request)
    [choice] = answer.choices
    said = choice.message
    calls = tuple((call.function.name, _compact(call.function.arguments)) for call in said.tool_calls or ())
    reasoning = getattr(said, "reasoning_content", None) or ""
    text = (said.content or "") + (said.refusal or "")
    return _meaning(_CHAT_FINISHES, choice.finish_reason, text=text, calls=calls, reasoning=reasoning)


def _gather_chat(chunks: list[Any]) -> Meaning:
    choices = [choice for chunk in chunks for choice in chunk.choices]
    text = "".join((choice.delta.content or "") + (choice.delta.refusal or "") for choice in choices)
    return _meaning(_CHAT_FINISHES, choices[-1].finish_reason, text=text)


# --- Anthropic Messages ---


def _anthropic_messages(scenario: Scenario) -> list[Any]:
    user: Any = {"role": "user", "content": PROMPT}
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    return {
        "multi-turn": [
            {"role": "user", "content": "First question"},
            {"role": "assistant", "content": "First answer"},
            user,
        ],
        "image": [{"role": "user", "content": [{"type": "text", "text": PROMPT}, {"type": "image", "source": source}]}],
        "tool result": [
            user,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "It rains"}]},
        ],
    }.get(scenario.name, [user])


def _anthropic_request(scenario: Scenario, model: str) -> dict[str, Any]:
    request: dict[str, Any] = {"model": model, "messages": _anthropic_messages(scenario), "max_tokens": _LIMIT}
    if scenario.name == "system":
        request["system"] = "Be brief."
    if scenario.tools:
        request["tools"] = [{"name": name, "description": "d", "input_schema": SCHEMA} for name in TOOL_NAMES]
    if scenario.name == "json schema":
        request["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMA}}
    if scenario.name == "reasoning":
        request["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    return request


_ANTHROPIC_FINISHES = {"end_turn": "stop", "max_tokens": "length", "tool_use": "calls", "refusal": "refusal"}


async def ask_anthropic(url: str, scenario: Scenario, model: str, *, stream: bool) -> Meaning:
    """Messages, `create` and `stream`."""
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client:
        request = _anthropic_request(scenario, model)
        if stream:
            async with client.messages.stream(**request) as events:
                answer: Any = await events.get_final_message()
        else:
            answer = await client.messages.create(**request)
    text = "".join(block.text for block in answer.content if block.type == "text")
    reasoning = "".join(block.thinking for block in answer.content if block.type == "thinking")
    calls = tuple((block.name, _compact(block.input)) for block in answer.content if block.type == "tool_use")
    return _meaning(_ANTHROPIC_FINISHES, answer.stop_reason, text=text, calls=calls, reasoning=reasoning)


# --- Gemini generateContent ---


def _gemini_contents(scenario: Scenario) -> list[Any]:
    user: Any = {"role": "user", "parts": [{"text": PROMPT}]}
    return {
        "multi-turn": [
            {"role": "user", "parts": [{"text": "First question"}]},
            {"role": "model", "parts": [{"text": "First answer"}]},
            user,
        ],
        "image": [
            {"role": "user", "parts": [{"text": PROMPT}, {"inline_data": {"mime_type": "image/png", "data": PNG}}]}
        ],
        "tool result": [
            user,
            {"role": "model", "parts": [{"function_call": {"name": "weather", "args": {"city": "Oslo"}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "weather", "response": {"output": "It rains"}}}]},
        ],
    }.get(scenario.name, [user])


def _gemini_config(scenario: Scenario) -> types.GenerateContentConfig:
    config: dict[str, Any] = {"max_output_tokens": _LIMIT}
    if scenario.name == "system":
        config["system_instruction"] = "Be brief."
    if scenario.tools:
        declarations = [{"name": name, "description": "d", "parameters_json_schema": SCHEMA} for name in TOOL_NAMES]
        config["tools"] = [{"function_declarations": declarations}]
        config["automatic_function_calling"] = {"disable": True}
    if scenario.name == "json schema":
        config |= {"response_mime_type": "application/json", "response_json_schema": SCHEMA}
    if scenario.name == "reasoning":
        config["thinking_config"] = {"include_thoughts": True, "thinking_budget": 1024}
    return types.GenerateContentConfig(**config)


_GEMINI_FINISHES = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "refusal",
    "PROHIBITED_CONTENT": "refusal",
}


async def ask_gemini(url: str, scenario: Scenario, model: str, *, stream: bool) -> Meaning:
    """generateContent and streamGenerateContent."""
    client = genai.Client(api_key="k", vertexai=False, http_options=types.HttpOptions(base_url=url))
    arguments: Any = {"model": model, "contents": _gemini_contents(scenario), "config": _gemini_config(scenario)}
    try:
        if stream:
            answers = [each async for each in await client.aio.models.generate_content_stream(**arguments)]
        else:
            answers = [await client.aio.models.generate_content(**arguments)]
    finally:
        await client.aio.aclose()
        client.close()
    candidates = [candidate for answer in answers for candidate in answer.candidates or ()]
    parts = [part for each in candidates for part in (each.content.parts if each.content else None) or ()]
    calls = tuple(
        (str(part.function_call.name), _compact(part.function_call.args)) for part in parts if part.function_call
    )
    finish = [each.finish_reason for each in candidates if each.finish_reason][-1]
    messages = "".join(each.finish_message or "" for each in candidates)
    text = "".join(part.text or "" for part in parts if not part.thought) or messages
    reasoning = "".join(part.text or "" for part in parts if part.thought)
    word = "calls" if calls and finish.value == "STOP" else finish.value
    return _meaning({**_GEMINI_FINISHES, "calls": "calls"}, word, text=text, calls=calls, reasoning=reasoning)


# --- Cohere v2 Chat ---


def _cohere_request(scenario: Scenario, model: str) -> dict[str, Any]:
    request = _chat_request(scenario, model)
    request["max_tokens"] = request.pop("max_completion_tokens")
    if request.pop("reasoning_effort", None):
        request["thinking"] = {"type": "enabled", "token_budget": 1024}
    if request.pop("response_format", None):
        request["response_format"] = {"type": "json_object", "json_schema": SCHEMA}
    for message in request["messages"]:
        if message["content"] is None:
            del message["content"]
    return request


_COHERE_FINISHES = {"COMPLETE": "stop", "MAX_TOKENS": "length", "TOOL_CALL": "calls"}


async def ask_cohere(url: str, scenario: Scenario, model: str, *, stream: bool) -> Meaning:
    """`chat` and `chat_stream`."""
    async with httpx.AsyncClient() as transport:
        client = cohere.AsyncClientV2(api_key="k", base_url=url, httpx_client=transport)
        request = _cohere_request(scenario, model)
        if stream:
            return _gather_cohere([event async for event in client.chat_stream(**request)])
        answer: Any = await client.chat(**request)
    blocks = answer.message.content or []
    text = (answer.message.tool_plan or "") + "".join(block.text for block in blocks if block.type == "text")
    reasoning = "".join(block.thinking for block in blocks if block.type == "thinking")
    calls = tuple((call.function.name, _compact(call.function.arguments)) for call in answer.message.tool_calls or ())
    return _meaning(_COHERE_FINISHES, answer.finish_reason, text=text, calls=calls, reasoning=reasoning)


def _gather_cohere(events: list[Any]) -> Meaning:
    text = reasoning = ""
    calls: list[list[str]] = []
    for event in events:
        if event.type == "content-delta":
            text += event.delta.message.content.text or ""
            reasoning += event.delta.message.content.thinking or ""
        elif event.type == "tool-plan-delta":
            text += event.delta.message.tool_plan
        elif event.type == "tool-call-start":
            function = event.delta.message.tool_calls.function
            calls.append([function.name, function.arguments or ""])
        elif event.type == "tool-call-delta":
            calls[-1][1] += event.delta.message.tool_calls.function.arguments
    assert events[0].type == "message-start"
    assert events[-1].type == "message-end"
    made = tuple((name, _compact(arguments)) for name, arguments in calls)
    return _meaning(_COHERE_FINISHES, events[-1].delta.finish_reason, text=text, calls=made, reasoning=reasoning)


# --- OpenAI Responses ---


def _responses_input(scenario: Scenario) -> Any:
    user: Any = {"role": "user", "content": PROMPT}
    return {
        "multi-turn": [
            {"role": "user", "content": "First question"},
            {"role": "assistant", "content": "First answer"},
            user,
        ],
        "image": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": PROMPT},
                    {"type": "input_image", "image_url": DATA_URI, "detail": "auto"},
                ],
            }
        ],
        "tool result": [
            user,
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "It rains"},
        ],
    }.get(scenario.name, PROMPT)


def _responses_request(scenario: Scenario, model: str) -> dict[str, Any]:
    request: dict[str, Any] = {"model": model, "input": _responses_input(scenario), "max_output_tokens": _LIMIT}
    if scenario.name == "system":
        request["instructions"] = "Be brief."
    if scenario.tools:
        request["tools"] = [
            {"type": "function", "name": name, "description": "d", "parameters": SCHEMA, "strict": True}
            for name in TOOL_NAMES
        ]
    if scenario.name == "json schema":
        request["text"] = {"format": {"type": "json_schema", "name": "place", "schema": SCHEMA, "strict": True}}
    if scenario.name == "reasoning":
        request["reasoning"] = {"effort": "low", "summary": "auto"}
    return request


async def ask_responses(url: str, scenario: Scenario, model: str, *, stream: bool) -> Meaning:
    """`responses.create` and `responses.stream`."""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        request = _responses_request(scenario, model)
        if stream:
            async with client.responses.stream(**request) as events:
                # The helper gives a final response only where that is complete.
                answer: Any = [event async for event in events][-1].response  # type: ignore[union-attr]  # the last has one
        else:
            answer = await client.responses.create(**request)
    parts = [part for item in answer.output if item.type == "message" for part in item.content]
    refusal = "".join(part.refusal for part in parts if part.type == "refusal")
    thoughts = [item for item in answer.output if item.type == "reasoning"]
    reasoning = "".join(part.text for item in thoughts for part in (*(item.summary or ()), *(item.content or ())))
    calls = tuple((item.name, _compact(item.arguments)) for item in answer.output if item.type == "function_call")
    word = answer.status if answer.incomplete_details is None else answer.incomplete_details.reason
    if calls and word == "completed":
        word = "calls"
    finishes = {"completed": "stop", "max_output_tokens": "length", "content_filter": "refusal", "calls": "calls"}
    return _meaning(finishes, word, text=answer.output_text + refusal, calls=calls, reasoning=reasoning)


Caller = Callable[..., Awaitable[Meaning]]
CALLERS: dict[str, Caller] = {
    "openai": ask_openai,
    "anthropic": ask_anthropic,
    "gemini": ask_gemini,
    "cohere": ask_cohere,
    "responses": ask_responses,
}
