"""`fluxrpc translate`: every pair and kind, what is printed, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fluxrpc.cli.translate import command

PROTOCOLS = ("openai", "anthropic", "gemini", "cohere", "responses")
REQUESTS: dict[str, dict[str, Any]] = {
    "openai": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    "anthropic": {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "cohere": {"model": "m", "stream": False, "messages": [{"role": "user", "content": "Hi"}]},
    "responses": {"model": "m", "input": "Hi"},
}
ANSWER = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}  # fmt: skip
STREAM = "".join(
    f"data: {data}\n\n"
    for data in (
        '{"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}',
        '{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"lo"}}]}',
        '{"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
        "[DONE]",
    )
)


def run(source: str, goal: str, content: object, *options: str) -> Result:
    text = content if isinstance(content, str) else json.dumps(content)
    return CliRunner().invoke(command, ["--from", source, "--to", goal, *options], input=text)


def printed(done: Result) -> dict[str, Any]:
    assert (done.exit_code, done.stderr) == (0, "")
    value = json.loads(done.stdout)
    assert list(value) == ["output", "notes"]
    return dict(value)


@pytest.mark.parametrize("goal", PROTOCOLS)
@pytest.mark.parametrize("source", PROTOCOLS)
def test_requests_of_every_pair(source: str, goal: str) -> None:
    output = printed(run(source, goal, REQUESTS[source], "--model", "up"))["output"]
    assert "Hi" in json.dumps(output)
    assert output.get("model", "up") == "up"


def test_notes_name_place_action_code_and_reason() -> None:
    notes = printed(run("anthropic", "openai", {**REQUESTS["anthropic"], "top_k": 5}))["notes"]
    (note,) = [note for note in notes if note["code"] == "TOP_K"]
    assert (note["path"], note["action"]) == ("top_k", "dropped")
    assert note["reason"]


def test_what_is_json_stays_as_it_is_written() -> None:
    tools = '[{"type":"function","function":{"name":"f","parameters":{"type":"object","maximum":1.0e400}}}]'
    body = json.dumps(REQUESTS["openai"])[:-1] + f', "tools": {tools}}}'
    assert "1.0e400" in run("openai", "openai", body).stdout


@pytest.mark.parametrize("goal", [*PROTOCOLS, "typed"])
def test_answers_streams_and_errors_come_back(goal: str) -> None:
    assert "Hello" in json.dumps(printed(run("openai", goal, ANSWER, "--kind", "response"))["output"])
    frames = printed(run("openai", goal, STREAM, "--kind", "stream"))["output"]
    assert "Hel" in json.dumps(frames)
    if goal != "typed":
        assert all(isinstance(frame, str) and frame.endswith("\n\n") for frame in frames)
        failed = printed(
            run("anthropic", goal, {"type": "error", "error": {"type": "x", "message": "Boom"}}, "--kind", "error")
        )
        assert "Boom" in json.dumps(failed["output"])


def test_the_request_decides_on_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({**REQUESTS["openai"], "stream": True, "stream_options": {"include_usage": True}}))
    events = 'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":4}}\n\n'  # noqa: E501  # one frame
    asked = printed(run("gemini", "openai", events, "--kind", "stream", "--request", str(path)))["output"]
    assert asked[-1] == "data: [DONE]\n\n"
    assert json.loads(asked[-2].removeprefix("data: "))["usage"]["total_tokens"] == 4
    stop = {**REQUESTS["openai"], "stop": list("abcdefg"), "model": "command-a-03-2025"}
    path.write_text(json.dumps(stop))
    answer = {
        "id": "1",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "xgx"}]},
    }  # one answer
    cut = printed(run("cohere", "openai", answer, "--kind", "response", "--request", str(path)))["output"]
    assert cut["choices"][0]["message"]["content"] == "x"


def test_the_typed_form() -> None:
    typed = printed(run("openai", "typed", REQUESTS["openai"]))["output"]
    assert typed["messages"] == [{"role": "ROLE_USER", "text": "Hi"}]
    back = printed(run("typed", "anthropic", typed, "--model", "up"))["output"]
    assert back["messages"][0]["content"] in ("Hi", [{"type": "text", "text": "Hi"}])


@pytest.mark.parametrize(
    ("args", "content", "status", "words"),
    [
        (("openai", "anthropic"), "{", 1, "INVALID_REQUEST"),
        (("openai", "anthropic"), {"model": "m", "messages": 7}, 1, "messages"),
        (("typed", "openai", "--model", "m"), '{"nonsense": 1}', 1, "MessageRequest"),
        (("typed", "openai", "--model", "m"), '{"messages": [{}]}', 1, "INVALID_REQUEST"),
        (("gemini", "openai"), REQUESTS["gemini"], 2, "--model is needed"),
        (("typed", "openai", "--kind", "response"), "{}", 2, "for requests"),
        (("openai", "typed", "--kind", "error"), "{}", 2, "no typed form"),
        (("anthropic", "openai", "--strict"), {**REQUESTS["anthropic"], "top_k": 5}, 1, "NOT_EXPRESSIBLE"),
        (("openai", "gemini", "--kind", "response"), "<html>", 1, "PROVIDER_FAILED"),
        (("openai", "gemini", "--kind", "response"), {"error": {"message": "Boom"}}, 1, "Boom"),
        (("openai", "gemini", "--request", "pyproject.toml"), REQUESTS["openai"], 2, "answers a request"),
    ],
)
def test_what_cannot_be_translated(args: tuple[str, ...], content: object, status: int, words: str) -> None:
    source, goal, *options = args
    done = run(source, goal, content, *options)
    assert (done.exit_code, done.stdout) == (status, "")
    assert words in done.stderr


def test_a_cut_stream_shows_what_came_and_fails() -> None:
    done = run("openai", "anthropic", STREAM[: STREAM.index('"delta":{}')], "--kind", "stream")
    assert done.exit_code == 1
    assert "not complete" in done.stderr
    assert "Hel" in "".join(json.loads(done.stdout)["output"])
