"""From an `Ok` and an `Ask` to the exact `Answer` that a dialect writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fluxrpc.simulator.ask import Ask
from fluxrpc.simulator.script import Finish, Ok, ToolCall, Usage
from fluxrpc.simulator.text import default_answer, fragments, sample_arguments, slices


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call with its id; `fragments` joined are the JSON text of the arguments."""

    id: str
    name: str
    fragments: tuple[str, ...]

    @property
    def arguments(self) -> str:
        """The arguments as JSON text."""
        return "".join(self.fragments)

    @property
    def arguments_object(self) -> Any:
        """The arguments as an object, for protocols that carry them so; broken text, which they cannot say, is {}."""
        try:
            return json.loads(self.arguments)
        except ValueError:
            return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Everything that an answer says; the same for every choice."""

    serial: int
    created: int
    model: str
    reasoning: tuple[str, ...]
    text: tuple[str, ...]
    refusal: tuple[str, ...]
    calls: tuple[Call, ...]
    finish: Finish
    stop_sequence: str | None
    usage: Usage | None

    @property
    def full_text(self) -> str:
        """The text in one piece."""
        return "".join(self.text)

    @property
    def full_reasoning(self) -> str:
        """The reasoning in one piece."""
        return "".join(self.reasoning)

    @property
    def full_refusal(self) -> str:
        """The refusal in one piece."""
        return "".join(self.refusal)


def compose(ok: Ok, ask: Ask, *, serial: int, created: int) -> Answer:
    """The answer to the request. Limits and stop sequences of the request bind only what `Ok` left open."""
    calls = _calls(ok, ask, serial)
    text, finish, stopped_by = _text(ok, ask, has_calls=bool(calls))
    refusal = fragments(ok.refusal)
    reasoning = fragments(ok.reasoning)
    if calls:
        finish = "tool_calls"
    if refusal:
        finish = "refusal"
    tokens = len(text) + len(refusal) + len(reasoning) + sum(len(call.fragments) for call in calls)
    usage = ok.usage or Usage(
        input=ask.input_tokens + ok.cached_tokens,
        output=tokens,
        reasoning=len(reasoning),
        cached=ok.cached_tokens,
    )
    return Answer(
        serial=serial,
        created=created,
        model=ok.served_model or ask.model,
        reasoning=reasoning,
        text=text,
        refusal=refusal,
        calls=calls,
        finish=ok.finish or finish,
        stop_sequence=ok.stop_sequence or stopped_by,
        usage=usage,
    )


def _text(ok: Ok, ask: Ask, *, has_calls: bool) -> tuple[tuple[str, ...], Finish, str | None]:
    if ok.fragments is not None:
        return ok.fragments, "stop_sequence" if ok.stop_sequence else "stop", None
    if ok.text is not None:
        return fragments(ok.text), "stop_sequence" if ok.stop_sequence else "stop", None
    if has_calls or ok.refusal or ok.finish == "content_filter":
        return (), "stop", None
    text = ask.prompt if ok.echo else default_answer(ask.model, ask.prompt)
    text = text.removeprefix(ask.prefill)
    finish: Finish = "stop"
    hits = [(at, stop) for stop in ask.stops if stop and (at := text.find(stop)) >= 0]
    stopped_by = None
    if hits:
        at, stopped_by = min(hits)
        text, finish = text[:at], "stop_sequence"
    pieces = fragments(text)
    if ask.token_limit is not None and len(pieces) > ask.token_limit:
        return pieces[: ask.token_limit], "length", None
    return pieces, finish, stopped_by


def _calls(ok: Ok, ask: Ask, serial: int) -> tuple[Call, ...]:
    wanted = ok.tool_calls
    if isinstance(wanted, int):
        wanted = _sample_calls(ask, wanted)
    elif not wanted and ask.forced_tool and ok == Ok():
        wanted = _sample_calls(ask, 1)
    return tuple(
        Call(
            id=call.id or f"call_sim{serial:06d}{index}",
            name=call.name,
            fragments=call.fragments or slices(call.arguments),
        )
        for index, call in enumerate(wanted)
    )


def _sample_calls(ask: Ask, count: int) -> tuple[ToolCall, ...]:
    tools = [tool for tool in ask.tools if ask.forced_tool in {None, "*", tool.name}]
    if not tools:
        return ()
    chosen = [tools[index % len(tools)] for index in range(count)]
    return tuple(ToolCall(name=tool.name, arguments=json.dumps(sample_arguments(tool.schema))) for tool in chosen)
