"""What the demo shows, scene by scene. Each looks at what it shows, so that the demo cannot promise what does not hold.

Scenes build on each other: the breaker counts the failures of all of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence

import grpc
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from fluxrpc.cli.caller import native_request, typed_request
from fluxrpc.cli.demo_stage import ANSWER, CUT_ANSWER, Stage, set_up
from fluxrpc.cli.failure import read_failure
from fluxrpc.cli.report import attempts_table, harmless
from fluxrpc.v1.outcome_pb2 import OUTCOME_MODEL, OUTCOME_OK, Attempt
from fluxrpc.v1.router_pb2 import Completed, ExecuteRequest, ListModelsRequest

_BROKEN = "chat/broken/large"
_HEALTHY = "chat/healthy/small"
_PROMPT = "Who answers me?"
_CALL_SECONDS = 10.0
_ALL_SECONDS = 30.0
_FAILURE_THRESHOLD = 3


class DemoError(Exception):
    """What the demo says does not hold."""


async def play(console: Console) -> None:
    """Play all scenes.

    Raises:
        DemoError: one of them does not go as it says.
    """
    try:
        async with asyncio.timeout(_ALL_SECONDS), set_up() as stage:
            console.print("[bold]fluxrpc demo[/]: the real server, the generated client, two simulated providers\n")
            console.print(Padding(Text(stage.configuration.rstrip(), style="cyan"), (0, 0, 0, 2), expand=False))
            console.print(f"\nServing on {stage.target}. Provider `broken` answers every request with 503.")
            for number, (title, scene) in enumerate(_SCENES, 1):
                console.print(f"\n[bold]{number}  {title}[/]")
                await scene(console, stage)
    except grpc.aio.AioRpcError as error:
        failure = read_failure(error)
        raise DemoError(f"a call failed: {failure.code} {failure.reason}: {harmless(failure.message)}") from error
    except TimeoutError as error:
        raise DemoError(f"it takes longer than {_ALL_SECONDS:g} s") from error
    console.print("\n[bold green]All of this went as it should.[/] Next: `fluxrpc serve --help`")


async def _fail_over(console: Console, stage: Stage) -> None:
    response = await stage.stub.Execute(typed_request("chat", _PROMPT), timeout=_CALL_SECONDS)
    text = "".join(part.text for choice in response.message.choices for part in choice.parts)
    _say(console, text)
    _show(console, response.attempts)
    _expect(text == ANSWER, f"the answer is {text!r}")
    # A 503 may pass, so the route is asked once more before the next one.
    _expect_attempts(response.attempts, [_BROKEN, _BROKEN, _HEALTHY])


async def _stream(console: Console, stage: Stage) -> None:
    text, completed = await _read_stream(console, stage, typed_request("chat", _PROMPT))
    _expect(completed is not None, "the stream ended without `completed`")
    attempts = completed.attempts if completed is not None else ()
    _show(console, attempts)
    _expect(text == ANSWER, f"the answer is {text!r}")
    _expect_attempts(attempts, [_BROKEN, _HEALTHY])


async def _breaker(console: Console, stage: Stage) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": _PROMPT}]}).encode()
    response = await stage.stub.Execute(native_request("chat", "openai", body), timeout=_CALL_SECONDS)
    answer = json.loads(response.native.body)
    _say(console, answer["choices"][0]["message"]["content"])
    _show(console, response.attempts)
    _expect_attempts(response.attempts, [_HEALTHY])
    met = len(stage.broken.seen("large"))
    models = (await stage.stub.ListModels(ListModelsRequest(), timeout=_CALL_SECONDS)).models
    chat = next(model for model in models if model.name == "chat")
    available = f"{chat.available_route_count} of {chat.route_count}"
    console.print(f"  `broken` has met {met} requests, this one not. Routes of `chat` open now: {available}")
    _expect(met == _FAILURE_THRESHOLD, f"provider `broken` met {met} requests")
    _expect(available == "1 of 2", f"{available} routes are open")


async def _cut(console: Console, stage: Stage) -> None:
    text = ""
    try:
        text, completed = await _read_stream(console, stage, typed_request("cut", _PROMPT))
    except _Interrupted as interrupted:
        failure = read_failure(interrupted.error)
        console.print(f"  [red]{failure.code} {failure.reason}[/]: {harmless(failure.message)}")
        _expect(failure.reason == "STREAM_INTERRUPTED", f"the reason is {failure.reason}")
        _expect(interrupted.text == CUT_ANSWER, f"before the end came {interrupted.text!r}")
    else:
        raise DemoError(f"a stream that was cut ended well, with {text!r}, completed: {completed is not None}")


Scene = Callable[[Console, Stage], Awaitable[None]]
_SCENES: Sequence[tuple[str, Scene]] = (
    ("A call: `broken` fails, is asked once more, then `healthy` takes over", _fail_over),
    ("A stream: the third failure in a row opens the breaker of `broken`", _stream),
    ("A call in OpenAI's own JSON: the breaker is open, `broken` is left alone", _breaker),
    ("A provider dies in mid-stream: what is not complete never looks complete", _cut),
)


class _Interrupted(Exception):
    """A stream ended with an error."""

    def __init__(self, error: grpc.aio.AioRpcError, text: str) -> None:
        super().__init__(error)
        self.error = error
        self.text = text


async def _read_stream(console: Console, stage: Stage, request: ExecuteRequest) -> tuple[str, Completed | None]:
    """Print the text of a stream as it comes; give it with the last message."""
    text, completed = "", None
    console.print("  > ", end="")
    try:
        async for message in stage.stub.ExecuteStream(request, timeout=_CALL_SECONDS):
            for event in message.events.events:
                console.print(Text(event.part_delta.text), end="")
                text += event.part_delta.text
            if message.HasField("completed"):
                completed = message.completed
    except grpc.aio.AioRpcError as error:
        raise _Interrupted(error, text) from error
    finally:
        console.print()
    return text, completed


def _say(console: Console, text: str) -> None:
    console.print(Text(f"  > {harmless(text)}"))


def _show(console: Console, attempts: Iterable[Attempt]) -> None:
    console.print(attempts_table(attempts, reasons=False))


def _expect_attempts(attempts: Iterable[Attempt], routes: Sequence[str]) -> None:
    """The broken route fails, the healthy one answers, in this order."""
    met = [(attempt.route, attempt.outcome) for attempt in attempts]
    wanted = [(route, OUTCOME_OK if route == _HEALTHY else OUTCOME_MODEL) for route in routes]
    _expect(met == wanted, f"the attempts are {[route for route, _ in met]}, not {list(routes)}")


def _expect(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # reads as a sentence
    if not holds:
        raise DemoError(otherwise)
