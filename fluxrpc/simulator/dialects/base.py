"""What each protocol module provides, and the error words that two of them share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fluxrpc.simulator.answer import Answer
from fluxrpc.simulator.ask import Ask, HttpRequest, Json, Problem
from fluxrpc.simulator.frames import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One protocol. All functions are pure."""

    name: str
    path: re.Pattern[str]
    """Matches the whole path; one prefix and one version segment may stand in front, never two versions."""
    base_path: str
    read: Callable[[HttpRequest], Ask]
    """Raises `Rejected` as the provider would reject."""
    unary: Callable[[Ask, Answer], Json]
    stream: Callable[[Ask, Answer], list[Frame]]
    status: Callable[[Problem], int]
    error: Callable[[Problem], Json]
    error_frames: Callable[[Problem], list[Frame]]
    """A failure inside a stream that has started."""
    headers: Callable[[int], Mapping[str, str]]
    """Response headers by the serial number of the request."""
    unknown_event: Frame
    ping: Frame | None = None
    failed: Callable[[Ask, Answer, Problem], Frame] | None = None
    """The last event of an answer that failed on the way, where the protocol has an answer with that status."""


def path_pattern(version: str, tail: str) -> re.Pattern[str]:
    """Paths like /v1/tail, /tail and /vendor/v1/tail; /v1/v1/tail is a wrong path, as at a real provider."""
    return re.compile(rf"(?:/(?!v\d)[A-Za-z][\w-]*)?(?:/(?:{version}))?/{tail}")


MESSAGES: Mapping[str, str] = {
    "bad_request": "The request is not valid.",
    "no_key": "No API key was provided.",
    "bad_key": "The API key that was provided is not valid.",
    "billing": "The billing limit of this account is reached.",
    "quota": "You exceeded your current quota, please check your plan and billing details.",
    "forbidden": "This key has no permission to use the model.",
    "not_found": "The path does not exist.",
    "timeout": "The request took too long.",
    "conflict": "The request conflicts with another one.",
    "too_large": "The request is too large.",
    "unprocessable": "The request could not be processed.",
    "rate_limit": "Rate limit reached. Please slow down.",
    "content_filter": "The request was rejected by the content filter.",
    "server_error": "The server had an error while processing your request.",
    "overloaded": "The model is overloaded. Please try again later.",
}


def message_of(problem: Problem) -> str:
    """The message: the given one, or the usual one of the word."""
    if problem.message is not None:
        return problem.message
    if problem.word == "model_not_found":
        return f"The model `{problem.model}` does not exist or you do not have access to it."
    return MESSAGES.get(problem.word, problem.word)
