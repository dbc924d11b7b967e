"""The settings of a request as `generationConfig`, as far as the model takes them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gates import is_neutral
from fluxrpc.protocols.gemini.wire import INTEGERS, MODALITIES, NUMBERS, Knob, inverse
from fluxrpc.protocols.gemini.write_schema import is_subset, write_schema
from fluxrpc.protocols.gemini.write_thinking import is_off, write_thinking
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1.message_pb2 import MessageRequest

__all__ = ["write_config"]

_MAX_STOPS = 5
_SEED_BITS = 32
# Documents are counted, not given.
_MODALITY_WORDS = {each: word for each, word in inverse(MODALITIES).items() if word != "DOCUMENT"}
_MIME_TYPES = {
    msg.OUTPUT_KIND_TEXT: "text/plain",
    msg.OUTPUT_KIND_JSON: "application/json",
    msg.OUTPUT_KIND_JSON_SCHEMA: "application/json",
    msg.OUTPUT_KIND_ENUM: "text/x.enum",
}


def write_config(request: MessageRequest, said: Collection[str], context: Context, notes: Notes) -> dict[str, Any]:
    """The object; empty where nothing is said. `said` names the fields of the request that are.

    Raises:
        InvalidRequest: a schema that cannot be said at all.
    """
    config: dict[str, Any] = {}
    own = context.caller is Protocol.GEMINI
    for knob in _KNOBS:
        if knob.field in said and _is_taken(knob.field, knob.code, request, context, notes):
            value = getattr(request, knob.field)
            config[knob.wire] = value if own else _in_range(value, knob, notes)
    for name, write in _WRITERS.items():
        if name in said:
            write(config, request, context, notes)
    return config


def _in_range(value: Any, knob: Knob, notes: Notes) -> Any:
    if knob.field == "seed":
        folded = (int(value) + 2 ** (_SEED_BITS - 1)) % 2**_SEED_BITS - 2 ** (_SEED_BITS - 1)
        if folded != value:
            notes.approximated("SEED", "seed")
        return folded
    if knob.low == knob.high or knob.low <= value <= knob.high:
        return value
    notes.clamped(knob.code, knob.field)
    return min(max(value, knob.low), knob.high)


def _is_taken(field: str, code: str, request: MessageRequest, context: Context, notes: Notes) -> bool:
    """Whether the model takes a setting; notes it where it does not."""
    gates = context.target.gates
    if field in gates.ignored or field in gates.refused:
        pass
    elif field not in gates.refused_while_reasoning or is_off(request.reasoning):
        return True
    if field != "choice_count" or request.choice_count > 1:  # one is what it gives anyhow
        notes.dropped(code, field, minor=is_neutral(field, getattr(request, field)))
    return False


def _write_stops(config: dict[str, Any], request: MessageRequest, context: Context, notes: Notes) -> None:
    """What Gemini cannot look for, we do."""
    stops = list(request.stop_sequences)
    gates = context.target.gates
    taken = 0 if "stop_sequences" in gates.refused | gates.ignored else _MAX_STOPS
    if stops[:taken]:
        config["stopSequences"] = stops[:taken]
    if stops[taken:]:
        context.stops = tuple(stops[taken:])
        notes.emulated("STOP_SEQUENCES", "stop_sequences")


def _write_logprobs(config: dict[str, Any], request: MessageRequest, context: Context, notes: Notes) -> None:
    if _is_taken("logprobs", "LOGPROBS", request, context, notes):
        config["responseLogprobs"] = request.logprobs


def _write_reasoning(config: dict[str, Any], request: MessageRequest, context: Context, notes: Notes) -> None:
    thinking = write_thinking(request, context, notes)
    if thinking:
        config["thinkingConfig"] = thinking


def _write_format(config: dict[str, Any], request: MessageRequest, context: Context, notes: Notes) -> None:
    output = request.output_format
    mime_type = _MIME_TYPES.get(output.kind)
    if mime_type is None:
        return
    config["responseMimeType"] = mime_type
    for name in ("name", "description"):
        if getattr(output, name):
            notes.dropped("OUTPUT_SCHEMA_NAME", f"output_format.{name}")
    if output.HasField("strict"):
        notes.dropped("OUTPUT_SCHEMA_STRICT", "output_format.strict")
    if output.schema_json:
        key = "responseSchema" if is_subset(output.dialect, context) else "responseJsonSchema"
        config[key] = write_schema(
            output.schema_json,
            output.dialect,
            context,
            notes,
            code="OUTPUT_SCHEMA_KEYWORDS",
            path="output_format.schema_json",
        )


def _write_modalities(config: dict[str, Any], request: MessageRequest, context: Context, notes: Notes) -> None:
    del context
    words = [_MODALITY_WORDS[each] for each in request.output_modalities if each in _MODALITY_WORDS]
    if len(words) < len(request.output_modalities):
        notes.dropped("OUTPUT_MODALITIES", "output_modalities")
    if words:
        config["responseModalities"] = words


def _write_speech(config: dict[str, Any], request: MessageRequest, context: Context, notes: Notes) -> None:
    del context
    if request.speech.voice:
        config["speechConfig"] = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": request.speech.voice}}}
    if request.speech.format:
        notes.dropped("SPEECH", "speech.format")


_KNOBS = (*NUMBERS, *INTEGERS)
_WRITERS: dict[str, Callable[[dict[str, Any], MessageRequest, Context, Notes], None]] = {
    "stop_sequences": _write_stops,
    "logprobs": _write_logprobs,
    "reasoning": _write_reasoning,
    "output_format": _write_format,
    "output_modalities": _write_modalities,
    "speech": _write_speech,
}
"""What writes a field that is said."""
