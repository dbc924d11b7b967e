"""What a request's writer did on the caller's behalf is undone in the answer: a pass over the IR, whole or streamed.

Names of tools get back the caller's spelling, custom tools their free text, arguments the form of the caller's schema,
enums their bare word; an answer is cut at a stop sequence that the provider could not take, and after the first call
where only one was allowed.

Invariant: what comes out obeys the grammar of the IR, and how a stream was cut into events changes nothing:
`accumulate(Undo(context).events(events_of(response)))` is what `undo_response` makes of `response`.

Stop sequences are looked for in each text part by itself, never in reasoning or arguments. What the provider says of a
part behind the cut (later citations, probabilities of tokens that are cut off) is lost with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from fluxrpc.ir.accumulate import accumulate
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.json_text import JsonFault, decode_answer
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.schema import restored
from fluxrpc.protocols.stops import StopScanner, compiled_stops
from fluxrpc.v1.part_pb2 import Part, TokenLogprob
from fluxrpc.v1.response_pb2 import FINISH_REASON_STOP_SEQUENCE, Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent
from fluxrpc.v1.tool_pb2 import FunctionTool

__all__ = ["CUSTOM_INPUT", "Undo", "is_needed", "undo_response"]

CUSTOM_INPUT: Final = "input"
"""The one property of a function that stands for a custom tool."""

_OBJECT = msgspec.json.Decoder(dict[str, Any])


def is_needed(context: Context) -> bool:
    """Whether the answer of this request needs the pass at all."""
    return bool(context.tool_names) or _is_more_than_names(context)


def undo_response(response: MessageResponse, context: Context, notes: Notes) -> None:
    """Undo in a whole answer, in place."""
    if _is_more_than_names(context):
        response.CopyFrom(accumulate(Undo(context, notes).events(events_of(response))))
        return
    for choice in response.choices:
        for part in choice.parts:
            _rename(part, context.tool_names)


class _Growing(Struct, kw_only=True):
    """An open part whose text is changed on its way."""

    kind: str
    """The kind of its deltas: `text` or `arguments`."""
    key: str = ""
    """It is a JSON object: kept until it ends, then only the string under this key is given out."""
    function: FunctionTool | None = None
    """It holds arguments of this function: kept until it ends, then given out in the form of its schema."""
    scanner: StopScanner | None = None
    _kept: list[str] = field(default_factory=list)
    _tokens: list[TokenLogprob] = field(default_factory=list)
    _tokens_length: int = 0

    @property
    def matched(self) -> str:
        """The stop sequence that was met."""
        return "" if self.scanner is None else self.scanner.matched

    @property
    def waits_for_tokens(self) -> bool:
        """Whether probabilities wait for their tokens to be given out."""
        return bool(self._tokens)

    def feed(self, text: str) -> str:
        """What of it can be given out."""
        if self.key or self.function is not None:
            self._kept.append(text)
            return ""
        return text if self.scanner is None else self.scanner.feed(text)

    def close(self) -> str:
        """What can be given out at its end."""
        text = "".join(self._kept)
        if self.key:
            text = _unwrapped(text, self.key)
        elif self.function is not None:
            text = restored(text, self.function.parameters_json, self.function.dialect)
        return text if self.scanner is None else self.scanner.feed(text) + self.scanner.close()

    def ripe(self, tokens: Sequence[TokenLogprob], *, at_end: bool = False) -> list[TokenLogprob]:
        """The probabilities, those just come included, whose tokens were given out."""
        if self.scanner is None:
            return [*tokens]
        self._tokens += tokens
        count = 0
        for token in self._tokens:
            length = self._tokens_length + len(token.token)
            if length > self.scanner.sent_length and not (at_end and not self.matched):
                break
            self._tokens_length = length
            count += 1
        ripe, self._tokens = self._tokens[:count], self._tokens[count:]
        return ripe


class _Choice(Struct, kw_only=True):
    """How far a choice has come."""

    growing: _Growing | None = None
    has_call: bool = False
    dropped: list[int] = field(default_factory=list)
    """Indexes, as the provider counts, of the parts that were left out."""
    is_cut: bool = False
    finish: Finish | None = None

    def index_of(self, part: int) -> int | None:
        """The index of a part in what comes out; None where it was left out."""
        if not self.dropped:
            return part
        return None if part in self.dropped else part - sum(each < part for each in self.dropped)


class Undo:
    """Undoes in one stream."""

    __slots__ = ("_choices", "_context", "_is_simple", "_notes", "_out", "_stops", "is_over")

    def __init__(self, context: Context, notes: Notes) -> None:
        self.is_over = False
        """The answer was cut here: what the provider still sends does not count."""
        self._context = context
        self._notes = notes
        self._is_simple = not _is_more_than_names(context)
        self._stops = compiled_stops(context.stops)
        self._choices: dict[int, _Choice] = {}
        self._out: list[StreamEvent] = []

    @property
    def finishes(self) -> Sequence[Finish]:
        """How the choices ended, where that differs from what the provider said; empty where nothing was cut."""
        if not any(choice.is_cut for choice in self._choices.values()):
            return ()
        return [choice.finish for _, choice in sorted(self._choices.items()) if choice.finish is not None]

    def events(self, events: Sequence[StreamEvent]) -> list[StreamEvent]:
        """What stands for these events, which are changed in place."""
        if self._is_simple:
            for event in events:
                if event.HasField("part_start"):
                    _rename(event.part_start.part, self._context.tool_names)
                elif event.HasField("part_stop"):
                    _rename(event.part_stop.part, self._context.tool_names)
            return [*events]
        self._out = []
        for event in events:
            match event.WhichOneof("event"):
                case "part_delta":
                    self._delta(event)
                case "part_start":
                    self._start(event)
                case "part_stop":
                    self._stop(event)
                case "finish":
                    self._finish(event)
                case _:
                    self._out.append(event)
        return self._out

    def _start(self, event: StreamEvent) -> None:
        start = event.part_start
        choice = self._choice(start.choice_index)
        if choice.is_cut:
            return
        _rename(start.part, self._context.tool_names)
        is_call = start.part.HasField("tool_call")
        if is_call and choice.has_call and self._context.single_call:
            self._notes.dropped("TOOL_CALL_CUT", f"choices[{start.choice_index}].parts[{start.part_index}]")
            choice.dropped.append(start.part_index)
            return
        choice.has_call |= is_call
        start.part_index -= len(choice.dropped)
        choice.growing = self._growing(start.part)
        text = _take_text(start.part, choice.growing) if choice.growing else ""
        self._out.append(event)
        if text and choice.growing:
            more = _delta_of(start.choice_index, start.part_index)
            self._grow(choice, choice.growing, more, text)

    def _delta(self, event: StreamEvent) -> None:
        delta = event.part_delta
        choice = self._choice(delta.choice_index)
        index = choice.index_of(delta.part_index)
        if choice.is_cut or index is None:
            return
        delta.part_index = index
        kind = delta.WhichOneof("delta")
        if choice.growing is not None and kind in {choice.growing.kind, None}:
            self._grow(choice, choice.growing, event, getattr(delta, choice.growing.kind))
            return
        if kind == "citation" and self._context.unwrap_key:
            delta.citation.ClearField("start")  # it counted in the object that is unwrapped
            delta.citation.ClearField("end")
        self._out.append(event)

    def _grow(self, choice: _Choice, growing: _Growing, event: StreamEvent, text: str) -> None:
        delta = event.part_delta
        piece = growing.feed(text)
        if piece != text:
            setattr(delta, growing.kind, piece)
        if growing.waits_for_tokens or delta.logprobs:
            tokens = growing.ripe(delta.logprobs)
            delta.ClearField("logprobs")
            delta.logprobs.extend(tokens)
        if piece or delta.logprobs or event.extras:
            self._out.append(event)
        if growing.scanner is not None and growing.scanner.matched:
            stop = StreamEvent()
            stop.part_stop.choice_index = delta.choice_index
            stop.part_stop.part_index = delta.part_index
            self._out.append(stop)
            self._cut(choice, delta.choice_index, growing.scanner.matched)

    def _stop(self, event: StreamEvent) -> None:
        stop = event.part_stop
        choice = self._choice(stop.choice_index)
        index = choice.index_of(stop.part_index)
        if choice.is_cut or index is None:
            return
        stop.part_index = index
        growing, choice.growing = choice.growing, None
        matched = ""
        if growing is not None:
            self._flush(growing, stop.choice_index, index)
            matched = growing.matched
        if stop.HasField("part"):
            _rename(stop.part, self._context.tool_names)
            matched = self._whole(stop.part) or matched
        self._out.append(event)
        if matched:
            self._cut(choice, stop.choice_index, matched)

    def _flush(self, growing: _Growing, choice_index: int, part_index: int) -> None:
        rest = growing.close()
        tokens = growing.ripe((), at_end=True)
        if rest or tokens:
            event = _delta_of(choice_index, part_index)
            setattr(event.part_delta, growing.kind, rest)
            event.part_delta.logprobs.extend(tokens)
            self._out.append(event)

    def _whole(self, part: Part) -> str:
        """Undo in a part that the provider repeats at its end; gives the stop sequence in it."""
        growing = self._growing(part)
        if growing is None:
            return ""
        text = growing.feed(_take_text(part, growing)) + growing.close()
        if growing.function is not None:
            part.tool_call.arguments_json = text
        elif growing.kind == "arguments":
            part.tool_call.custom_text = text
        else:
            part.text = text
        tokens = growing.ripe(part.logprobs, at_end=True)
        del part.logprobs[:]
        part.logprobs.extend(tokens)
        return growing.matched

    def _growing(self, part: Part) -> _Growing | None:
        """What is to be done with the text of a part that begins; None where it stays as it is."""
        if part.HasField("text") and (self._stops or self._context.unwrap_key):
            scanner = StopScanner(self._stops) if self._stops else None
            return _Growing(kind="text", key=self._context.unwrap_key, scanner=scanner)
        if part.tool_call.name in self._context.custom_tools and part.HasField("tool_call"):
            return _Growing(kind="arguments", key=CUSTOM_INPUT)
        if part.HasField("tool_call") and part.tool_call.name in self._context.narrowed_tools:
            return _Growing(kind="arguments", function=self._context.narrowed_tools[part.tool_call.name])
        return None

    def _finish(self, event: StreamEvent) -> None:
        choice = self._choice(event.finish.choice_index)
        if not choice.is_cut:
            choice.finish = event.finish
            self._out.append(event)

    def _cut(self, choice: _Choice, index: int, matched: str) -> None:
        """The choice ends here. Where it is the last one that was awaited, so does the answer."""
        event = StreamEvent()
        event.finish.choice_index = index
        event.finish.reason = FINISH_REASON_STOP_SEQUENCE
        event.finish.matched_stop = matched
        self._out.append(event)
        choice.is_cut = True
        choice.finish = event.finish
        ended = sum(each.finish is not None for each in self._choices.values())
        self.is_over = ended >= max(1, self._context.request.choice_count)

    def _choice(self, index: int) -> _Choice:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice()
        return choice


def _is_more_than_names(context: Context) -> bool:
    return bool(
        context.custom_tools or context.narrowed_tools or context.stops or context.single_call or context.unwrap_key
    )


def _rename(part: Part, tool_names: Mapping[str, str]) -> None:
    if part.HasField("tool_call"):
        name = tool_names.get(part.tool_call.name)
        if name is not None:
            part.tool_call.name = name


def _take_text(part: Part, growing: _Growing) -> str:
    """The text that a part already has; what stays is the empty part. A call of a custom tool becomes one."""
    if growing.function is not None:
        text, part.tool_call.arguments_json = part.tool_call.arguments_json, ""
        return text
    if part.HasField("tool_call"):
        text = part.tool_call.arguments_json
        part.tool_call.custom_text = ""
        return text
    text, part.text = part.text, ""
    return text


def _unwrapped(text: str, key: str) -> str:
    """The string under a key of a JSON object; the text as it is where it is none (a cut answer, a stubborn model)."""
    try:
        found = decode_answer(_OBJECT, text.encode()).get(key)
    except JsonFault:
        return text
    return found if isinstance(found, str) else text


def _delta_of(choice: int, part: int) -> StreamEvent:
    event = StreamEvent()
    event.part_delta.choice_index = choice
    event.part_delta.part_index = part
    return event
