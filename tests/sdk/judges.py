"""The official SDKs judge what is sent to their providers: bodies are made of their request types and nothing else."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import cohere
import cohere.types
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from google.genai import types
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

_STRICT = {"extra": "forbid", "arbitrary_types_allowed": True}


@lru_cache(maxsize=1)
def _forbid_unknown_keys() -> None:
    """TypedDicts let unknown keys pass unless told otherwise, and a configuration does not reach the inner ones."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("openai.types", "anthropic.types")):
            for value in vars(module).values():
                if isinstance(value, type) and is_typeddict(value):
                    value.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]  # pydantic's own hook


@lru_cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    _forbid_unknown_keys()
    return TypeAdapter(kind)


def _consume(value: Any) -> None:
    """Iterables are checked only as they are read."""
    if isinstance(value, dict):
        for inner in value.values():
            _consume(inner)
    elif not isinstance(value, str | bytes | int | float | None) and hasattr(value, "__iter__"):
        for inner in value:
            _consume(inner)


def _typed_dict(whole: Any, streaming: Any) -> Callable[[dict[str, Any]], Iterator[str]]:
    def faults(body: dict[str, Any]) -> Iterator[str]:
        kind = streaming if body.get("stream") else whole
        try:
            _consume(_adapter(kind).validate_python(body))
        except ValidationError as error:
            yield from (f"{each['loc']}: {each['msg']}" for each in error.errors())

    return faults


_GEMINI: dict[str, TypeAdapter[Any]] = {
    "contents": TypeAdapter(list[types.Content]),
    "systemInstruction": TypeAdapter(types.Content),
    "tools": TypeAdapter(list[types.Tool]),
    "toolConfig": TypeAdapter(types.ToolConfig),
    "safetySettings": TypeAdapter(list[types.SafetySetting]),
    "generationConfig": TypeAdapter(types.GenerationConfig),
}


def _gemini_faults(body: dict[str, Any]) -> Iterator[str]:
    for key, value in body.items():
        if key not in _GEMINI:
            yield f"{key}: unknown"
            continue
        try:
            _GEMINI[key].validate_python(value)
        except ValidationError as error:
            yield from (f"{key}{each['loc']}: {each['msg']}" for each in error.errors())


_COHERE_KEYS = frozenset(inspect.signature(cohere.AsyncClientV2.chat).parameters) | {"stream"}
_COHERE_MESSAGES = TypeAdapter(list[cohere.types.ChatMessageV2])
_COHERE_TOOLS = TypeAdapter(list[cohere.types.ToolV2])


def _cohere_faults(body: dict[str, Any]) -> Iterator[str]:
    yield from (f"{key}: unknown" for key in body if key not in _COHERE_KEYS)
    try:
        _COHERE_MESSAGES.validate_python(body["messages"])
        _COHERE_TOOLS.validate_python(body.get("tools", []))
    except ValidationError as error:
        yield from (f"{each['loc']}: {each['msg']}" for each in error.errors())


_JUDGES = {
    "openai": _typed_dict(CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming),
    "anthropic": _typed_dict(MessageCreateParamsNonStreaming, MessageCreateParamsStreaming),
    "gemini": _gemini_faults,
    "cohere": _cohere_faults,
    "responses": _typed_dict(ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming),
}


def faults_of(protocol: str, body: bytes) -> list[str]:
    """What the SDK of that protocol does not take in a request body."""
    return list(_JUDGES[protocol](json.loads(body)))
