"""What a dialect reads from a request (`Ask`) and how it says no (`Problem`, raised as `Rejected`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fluxrpc.simulator.text import texts

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request as it came in; header names are lower case, the body is untouched."""

    method: str
    target: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A function tool that the request offers."""

    name: str
    schema: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The request in neutral words; `body` is the parsed JSON for what only one dialect needs."""

    model: str
    stream: bool
    body: Json
    prompt: str
    input_tokens: int
    tools: tuple[OfferedTool, ...] = ()
    forced_tool: str | None = None
    """Name of the tool that must be called, `*` for any, None where the model may choose."""
    stops: tuple[str, ...] = ()
    token_limit: int | None = None
    choices: int = 1
    prefill: str = ""
    """Text of the assistant's turn that the request ends in."""
    sse: bool = True
    """False: a gemini stream as one growing JSON array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error to be told. `word` chooses the protocol's own words; the other fields override them."""

    word: str
    status: int | None = None
    message: str | None = None
    code: str | None = None
    param: str | None = None
    retry_info_seconds: float | None = None
    model: str = ""


class Rejected(Exception):  # it is an outcome of reading, not an error of ours
    """The provider's answer to a request is this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message or problem.word)
        self.problem = problem


STATUS_WORDS: Mapping[int, str] = {
    400: "bad_request", 401: "bad_key", 402: "billing", 403: "forbidden", 404: "model_not_found", 408: "timeout",
    409: "conflict", 413: "too_large", 422: "unprocessable", 429: "rate_limit", 498: "content_filter",
    500: "server_error", 502: "server_error", 503: "overloaded", 504: "timeout", 529: "overloaded",
}  # fmt: skip


def word_of_status(status: int) -> str:
    """The kind of problem that a bare HTTP status stands for."""
    return STATUS_WORDS.get(status, "server_error" if status >= 500 else "bad_request")


def check_types(ask: Ask) -> Ask:
    """The request as it is; `Rejected` where a field that the simulator works with has another type."""
    for name, value, kind in (
        ("model", ask.model, str),
        ("max_tokens", ask.token_limit or 0, int),
        ("n", ask.choices, int),
    ):
        if not isinstance(value, kind):
            message = f"Invalid type for '{name}'."
            raise Rejected(Problem(word="bad_request", param=name, message=message, code="invalid_type"))
    return ask


def missing(param: str, message: str) -> Rejected:
    """A required field is not there."""
    return Rejected(Problem(word="bad_request", param=param, message=message, code="missing_required_parameter"))


def read_json(request: HttpRequest) -> Json:
    """The body as an object; `Rejected` with 400 otherwise."""
    try:
        body = json.loads(request.body)
    except ValueError as exc:
        message = "We could not parse the JSON body of your request."
        raise Rejected(Problem(word="bad_request", message=message, code="invalid_json")) from exc
    if not isinstance(body, dict):
        raise Rejected(Problem(word="bad_request", message="The body must be a JSON object.", code="invalid_json"))
    return body


def bearer(headers: Mapping[str, str]) -> str:
    """The key of an `Authorization: Bearer` header, or an empty string."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def check_key(key: str) -> None:
    """Any key is good, but for none, `bad-key` and `spent-key`."""
    if not key:
        raise Rejected(Problem(word="no_key"))
    if key == "bad-key":
        raise Rejected(Problem(word="bad_key"))
    if key == "spent-key":
        raise Rejected(Problem(word="quota"))


def last_text(messages: Any, is_user: Callable[[Json], bool], read: Callable[[Any], str]) -> str:
    """The text of the last message that `is_user` accepts, or an empty string."""
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and is_user(message) and (text := read(message)):
            return text
    return ""


def last_assistant_text(messages: list[Json]) -> str:
    """The text of the last message if it is the assistant's, or an empty string."""
    last = messages[-1]
    return " ".join(texts(last)) if last.get("role") in {"assistant", "model"} else ""


def as_stops(value: Any) -> tuple[str, ...]:
    """Stop sequences from a string, a list or nothing."""
    return (value,) if isinstance(value, str) else tuple(value or ())
