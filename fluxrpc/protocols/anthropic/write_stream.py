"""Events to a stream of Anthropic Messages: `message_start`, blocks one by one, `message_delta`, `message_stop`.

A text block is opened when it has something to say: clients keep empty ones, and are refused when they send them back.
Usage may come after the finish, so `message_delta` waits for the end. Thinking of another provider stays open until the
next part is known: what Gemini signs (calls, text) is carried in the signature of the thinking before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fluxrpc.ir.usage import merge_usage
from fluxrpc.protocols.anthropic.answer_parts import Answered, Block, foreign_states, signature_of, whole_block
from fluxrpc.protocols.anthropic.arguments import input_of
from fluxrpc.protocols.anthropic.usage import note_unsaid, written_delta, written_usage
from fluxrpc.protocols.anthropic.words import ANTHROPIC
from fluxrpc.protocols.anthropic.write_response import said_citation
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.part_pb2 import Citation, Part, ToolCall
from fluxrpc.v1.protocol_pb2 import Extra, OpaqueState
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, RawEvent, StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["AnthropicEventWriter"]

_encode = msgspec.json.encode

_DELTAS = {
    "text": b'"text_delta","text":',
    "thinking": b'"thinking_delta","thinking":',
    "input": b'"input_json_delta","partial_json":',
}
"""What grows in a block to the type of its deltas and their field."""
_BETWEEN_SUMMARIES = "\n\n"


class AnthropicEventWriter:
    """See the module."""

    def __init__(self, context: Context, notes: Notes) -> None:
        self._answered = Answered(context, notes)
        self._notes = notes
        self._usage = Usage()
        self._finish = Finish()
        self._finish_extras: list[Extra] = []
        self._block_count = 0
        self._part_index = -1
        self._pending: Block | None = None
        """The block of the open part, until there is something to say in it."""
        self._is_open = False
        """A block is open on the wire."""
        self._delta_head = b""
        """How each delta of the open block begins; b"" where it does not grow."""
        self._has_grown = False
        self._is_thinking = False
        """The open part is thinking."""
        self._signature = ""
        """What signs it; said last, as the provider does."""
        self._is_held = False
        """The part is over, and its block waits for what signs the next."""
        self._summary = 0
        self._free_text: list[str] | None = None
        """What a call that takes free text was given: it is written as one string within an object."""

    def write(self, events: Sequence[StreamEvent]) -> bytes:
        """See `EventWriter.write`."""
        return b"".join([self._write(event) for event in events])

    def close(self) -> bytes:
        """See `EventWriter.close`."""
        end = self._answered.end(self._finish, "choices[0].finish")
        note_unsaid(self._usage, self._notes, has_writes=self._answered.own)
        merge_extras(end, self._finish_extras, ANTHROPIC)
        delta = {"type": "message_delta", "delta": end, "usage": written_delta(self._usage)}
        return self._release("") + _frame("message_delta", delta) + _frame("message_stop", {"type": "message_stop"})

    def _write(self, event: StreamEvent) -> bytes:
        kind = event.WhichOneof("event")
        match kind:
            case "part_delta":
                return self._grow(event.part_delta)
            case "part_start":
                return self._start_part(event.part_start, event.extras)
            case "part_stop":
                return self._stop_part(event.part_stop)
            case "response_start":
                return self._start(event.response_start)
            case "usage":
                merge_usage(self._usage, event.usage)
            case "finish" if self._is_first(event.finish.choice_index):
                self._finish.CopyFrom(event.finish)
                self._finish_extras = list(event.extras)
            case "raw":
                return _raw_frame(event.raw)
        return b""

    def _start(self, response: MessageResponse) -> bytes:
        merge_usage(self._usage, response.usage)
        message = self._answered.head(response) | {"content": [], "stop_reason": None, "stop_sequence": None}
        message["usage"] = written_usage(response.usage, self._answered.tier(response))
        merge_extras(message, response.extras, ANTHROPIC)
        self._notes.foreign_extras(response.extras, ANTHROPIC, "", code="ANSWER_EXTRA")
        return _frame("message_start", {"type": "message_start", "message": message})

    def _is_first(self, choice: int) -> bool:
        if choice:
            self._notes.dropped("ANSWER_CHOICES", f"choices[{choice}]")
        return not choice

    # --- the start of a part ---

    def _start_part(self, start: PartStart, extras: Iterable[Extra]) -> bytes:
        if not self._is_first(start.choice_index):
            return b""
        part = Part()
        part.CopyFrom(start.part)
        part.extras.extend(extras)
        self._part_index = start.part_index
        path = f"choices[0].parts[{start.part_index}]"
        out = self._sign_before(part, path)
        self._has_grown = False
        match part.WhichOneof("kind"):
            case "text" | "refusal" | "audio":
                return out + self._start_text(part, path)
            case "reasoning" if not part.reasoning.redacted:
                return out + self._start_thinking(part, path)
            case "tool_call":
                call = part.tool_call
                block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
                return out + self._start_call(block, call.arguments_json, part, path)
            case "raw" if part.raw.protocol == ANTHROPIC:
                return out + self._open(raw(part.raw.body_json), "")
            case kind:
                found = whole_block(self._answered, part, path)
                if found is None:
                    self._delta_head = b""
                    return out
                if kind == "server_tool_call":
                    return out + self._start_call(found | {"input": {}}, part.server_tool_call.input_json, part, path)
                self._answered.finish_block(found, part, path)
                return out + self._open(found, "")

    def _start_text(self, part: Part, path: str) -> bytes:
        if part.HasField("refusal"):
            self._notes.approximated("ANSWER_REFUSAL", path)
        elif part.HasField("audio"):
            self._notes.approximated("ANSWER_AUDIO", path)
        self._pending = {"type": "text", "text": ""}
        self._answered.finish_block(self._pending, part, path)
        out = self._add("text", part.text or part.refusal or part.audio.transcript)
        return out + b"".join([self._cite(citation, self._part_index) for citation in part.citations])

    def _start_thinking(self, part: Part, path: str) -> bytes:
        self._pending = {"type": "thinking", "thinking": "", "signature": ""}
        self._is_thinking = True
        self._signature = signature_of(part.opaque)
        if len(part.opaque) > 1:
            self._notes.dropped("REASONING_STATE", f"{path}.opaque")
        self._summary = max(0, len(part.reasoning.summaries) - 1)
        self._answered.finish_block(self._pending, part, path)
        return self._add("thinking", part.reasoning.text or _BETWEEN_SUMMARIES.join(part.reasoning.summaries))

    def _start_call(self, block: Block, arguments: str, part: Part, path: str) -> bytes:
        self._answered.finish_block(block, part, path)
        self._free_text = [part.tool_call.custom_text] if part.tool_call.HasField("custom_text") else None
        return self._open(block, "input") + self._add("input", arguments)

    # --- growth ---

    def _grow(self, delta: PartDelta) -> bytes:
        if not self._is_first(delta.choice_index):
            return b""
        if delta.logprobs:
            self._notes.dropped("ANSWER_LOGPROBS", "choices[0].logprobs")
        kind = delta.WhichOneof("delta")
        match kind:
            case "text" | "refusal" | "transcript":
                return self._add("text", getattr(delta, kind))
            case "reasoning":
                return self._add("thinking", delta.reasoning)
            case "arguments" if self._free_text is not None:
                self._free_text.append(delta.arguments)
            case "arguments":
                return self._add("input", delta.arguments)
            case "summary":
                is_next = delta.summary.summary_index != self._summary
                self._summary = delta.summary.summary_index
                return self._add("thinking", (_BETWEEN_SUMMARIES if is_next else "") + delta.summary.text)
            case "citation":
                return self._cite(delta.citation, delta.part_index)
            case "opaque":
                return self._take_state(delta.opaque)
        return b""

    def _add(self, grows: str, text: str) -> bytes:
        if not text:
            return b""
        out = b"" if self._pending is None else self._open(self._pending, grows)
        if not self._delta_head:
            return b""
        self._has_grown = True
        return out + self._delta_head + _encode(text) + b"}}\n\n"

    def _cite(self, citation: Citation, part_index: int) -> bytes:
        path = f"choices[0].parts[{part_index}].citations"
        if part_index != self._part_index or not (self._is_open or self._pending):
            self._notes.dropped("CITATION", path)
            return b""
        said = said_citation(self._answered, citation, path)
        if said is None:
            return b""
        out = b"" if self._pending is None else self._open(self._pending, "text")
        return out + self._delta({"type": "citations_delta", "citation": said})

    # --- signatures ---

    def _take_state(self, state: OpaqueState) -> bytes:
        """Of our own provider the last word stands, as in its SDKs; of others the first of several states."""
        if self._is_thinking and (self._answered.own or not self._signature):
            self._signature = signature_of([state])
        else:
            self._notes.dropped("REASONING_STATE", f"choices[0].parts[{self._part_index}].opaque")
        return b""

    def _sign(self, signature: str) -> bytes:
        if not signature:
            return b""
        out = b"" if self._pending is None else self._open(self._pending, "thinking")
        return out + self._delta({"type": "signature_delta", "signature": signature})

    def _sign_before(self, part: Part, path: str) -> bytes:
        """Close the thinking before a part; what signs the part goes there, or into thinking of its own."""
        signature = "" if part.HasField("reasoning") else signature_of(foreign_states(part))
        is_held = self._is_held
        out = self._release(signature)
        self._is_thinking = False
        self._signature = ""
        if not signature or is_held:
            return out
        if not self._answered.asked_to_reason:
            self._notes.dropped("REASONING_STATE", f"{path}.opaque")
            return out
        self._pending = {"type": "thinking", "thinking": "", "signature": ""}
        return out + self._sign(signature) + self._stop_block()

    def _release(self, signature: str) -> bytes:
        """End the block that waits."""
        if not self._is_held:
            return b""
        self._is_held = False
        return self._sign(signature) + self._stop_block()

    # --- the end of a part ---

    def _stop_part(self, stop: PartStop) -> bytes:
        if stop.choice_index:
            return b""
        out = b""
        if self._free_text is not None:
            call = ToolCall(custom_text="".join(self._free_text) or stop.part.tool_call.custom_text)
            out, self._free_text = self._add("input", bytes(input_of(call)[0]).decode()), None
        out += self._repeated(stop.part) if stop.HasField("part") else b""
        out += self._sign(self._signature)
        if self._pending is not None:
            if not self._answered.own:
                self._pending = None
                return out
            out += self._open(self._pending, "")
        if self._is_thinking and not self._signature and not self._answered.own:
            self._is_held = True
            return out
        return out + self._stop_block()

    def _repeated(self, part: Part) -> bytes:
        """The whole part, where its provider repeats it: only what did not come before is new."""
        out = b""
        if not self._has_grown:
            for grows, text in (
                ("text", part.text or part.refusal),
                ("thinking", part.reasoning.text or _BETWEEN_SUMMARIES.join(part.reasoning.summaries)),
                ("input", part.tool_call.arguments_json),
            ):
                out += self._add(grows, text)
        if self._is_thinking:
            self._signature = self._signature or signature_of(part.opaque)
        return out

    # --- frames ---

    def _open(self, block: Any, grows: str) -> bytes:
        self._pending = None
        index = self._block_count
        self._block_count += 1
        self._is_open = True
        self._delta_head = b""
        if grows:
            self._delta_head = (
                b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":%s'
                % (index, _DELTAS[grows])
            )
        start = {"type": "content_block_start", "index": index, "content_block": block}
        return _frame("content_block_start", start)

    def _delta(self, delta: Block) -> bytes:
        event = {"type": "content_block_delta", "index": self._block_count - 1, "delta": delta}
        return _frame("content_block_delta", event)

    def _stop_block(self) -> bytes:
        if not self._is_open:
            return b""
        self._is_open = False
        self._delta_head = b""
        return _frame("content_block_stop", {"type": "content_block_stop", "index": self._block_count - 1})


def _frame(name: str, event: Block) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), _encode(event))


def _raw_frame(event: RawEvent) -> bytes:
    if event.protocol != ANTHROPIC:
        return b""
    return b"event: %s\ndata: %s\n\n" % (event.name.encode(), event.data_json.encode())
