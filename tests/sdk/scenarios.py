"""What callers ask for and what providers answer, in neutral words, and what must come through."""

from __future__ import annotations

from dataclasses import dataclass, field

from fluxrpc.simulator import Ok, ToolCall

OSLO = '{"city": "Oslo"}'
ROME = '{"city": "Rome"}'
REFUSAL = "I cannot help with that."
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where."}},
    "required": ["city"],
    "additionalProperties": False,
}
PNG = "iVBORw0KGgoAAAANSUhEUg=="
"""The head of a PNG, whose base64 is the same in both alphabets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What an SDK's user gets of an answer."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Name and arguments (compact JSON, keys sorted) of each call."""
    finish: str = "stop"
    """`stop`, `length`, `calls`, `refusal` or `other`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One line of the matrix."""

    name: str
    act: Ok
    meaning: Meaning
    in_request: tuple[str, ...] = ("Hello model",)
    """Texts that must reach the provider."""
    tools: bool = False
    tags: frozenset[str] = field(default_factory=frozenset)


def _scenario(name: str, act: Ok, meaning: Meaning, *in_request: str, tools: bool = False) -> Scenario:
    return Scenario(name=name, act=act, meaning=meaning, in_request=("Hello model", *in_request), tools=tools)


HI = Meaning(text="Hello, caller. Välkommen!")
SAID = Ok(text="Hello, caller. Välkommen!")
SCENARIOS = (
    _scenario("text", SAID, HI),
    _scenario("system", SAID, HI, "Be brief."),
    _scenario("multi-turn", SAID, HI, "First question", "First answer"),
    _scenario("image", SAID, HI, PNG),
    _scenario(
        "tool call",
        Ok(tool_calls=(ToolCall(name="weather", arguments=OSLO),)),
        Meaning(calls=(("weather", OSLO),), finish="calls"),
        "weather",
        tools=True,
    ),
    _scenario(
        "parallel calls",
        Ok(text="Both.", tool_calls=(ToolCall(name="weather", arguments=OSLO), ToolCall(name="clock", arguments=ROME))),
        Meaning(text="Both.", calls=(("weather", OSLO), ("clock", ROME)), finish="calls"),
        "weather",
        "clock",
        tools=True,
    ),
    _scenario("tool result", SAID, HI, "It rains", "weather", tools=True),
    _scenario("reasoning", Ok(reasoning="Let me think.", text="42"), Meaning(text="42", reasoning="Let me think.")),
    _scenario("json schema", Ok(text=OSLO), Meaning(text=OSLO), "city"),
    _scenario("length", Ok(text="Half an", finish="length"), Meaning(text="Half an", finish="length")),
    _scenario("refusal", Ok(refusal=REFUSAL), Meaning(text=REFUSAL, finish="refusal")),
)
