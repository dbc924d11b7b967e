"""What whole answers and streams of Gemini are written of: parts, signatures, probabilities, the end of a candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fluxrpc.ir.presence import is_bare
from fluxrpc.protocols.envelope import seal
from fluxrpc.protocols.gemini.finish import EXACT, written_reason
from fluxrpc.protocols.gemini.wire import CODE_PARTS, GEMINI, as_object, is_made_up
from fluxrpc.protocols.gemini.write_media import thought_text, written_args, written_media
from fluxrpc.protocols.media import base64_of
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.part_pb2 import Part, TokenLogprob
from fluxrpc.v1.protocol_pb2 import Extra, OpaqueState
from fluxrpc.v1.response_pb2 import FINISH_REASON_STOP_SEQUENCE, Finish

__all__ = ["note_trimmings", "put_extras", "signature_of", "write_finish", "written_logprobs", "written_part"]

WirePart = dict[str, Any]
_SERVER_KEYS = frozenset({*CODE_PARTS, "toolCall", "toolResponse"})


def written_part(part: Part, path: str, notes: Notes) -> WirePart | None:
    """One part of an answer; None where it says nothing in this protocol."""
    written = _WRITERS[part.WhichOneof("kind") or ""](part, path, notes)
    if written is None:
        return None
    if not is_bare(part):
        signature = signature_of(part.opaque)
        if signature:
            written["thoughtSignature"] = signature
        note_trimmings(part, path, notes)
        put_extras(written, part.extras, path, notes)
    if written in ({"text": ""}, {"text": "", "thought": True}):
        return None
    return written


def put_extras(fields: dict[str, Any], extras: Sequence[Extra], path: str, notes: Notes) -> None:
    """Give a node its extras of this protocol back, and note the others."""
    if extras:
        notes.foreign_extras(extras, GEMINI, path, "ANSWER_EXTRA")
        merge_extras(fields, extras, GEMINI)


def note_trimmings(part: Part, path: str, notes: Notes) -> None:
    """What may hang on a part and has no place here. There is room for one signature."""
    if part.phase:
        notes.dropped("TEXT_PHASE", f"{path}.phase")
    if len(part.opaque) > 1:
        notes.dropped("REASONING_STATE", f"{path}.opaque")


def signature_of(states: Iterable[OpaqueState]) -> str:
    """What goes into `thoughtSignature`: Gemini's own as it was, another provider's in an envelope. "" for none.

    There is room for one.
    """
    for state in states:
        return state.value.decode() if state.origin == GEMINI else base64_of(seal(state).encode())
    return ""


def written_logprobs(logprobs: Iterable[TokenLogprob]) -> dict[str, Any]:
    """`logprobsResult`."""
    chosen = list(logprobs)
    result: dict[str, Any] = {"chosenCandidates": [_logprob(each) for each in chosen]}
    if any(each.alternatives for each in chosen):
        result["topCandidates"] = [{"candidates": [_logprob(other) for other in each.alternatives]} for each in chosen]
    return result


def write_finish(candidate: dict[str, Any], finish: Finish, notes: Notes, *, own: bool) -> None:
    """Why a candidate ended."""
    candidate["finishReason"] = written_reason(finish, own=own)
    if finish.message:
        candidate["finishMessage"] = finish.message
    path = f"choices[{finish.choice_index}].finish"
    if finish.reason == FINISH_REASON_STOP_SEQUENCE:
        notes.dropped("MATCHED_STOP", f"{path}.matched_stop")
    elif finish.reason not in EXACT:
        notes.approximated("FINISH_REASON", f"{path}.reason")
    if extras := finish.extras:
        notes.foreign_extras(extras, GEMINI, path, "ANSWER_EXTRA")


def _text(part: Part, path: str, notes: Notes) -> WirePart:
    del path, notes
    return {"text": part.text}


def _refusal(part: Part, path: str, notes: Notes) -> WirePart:
    notes.approximated("ANSWER_REFUSAL", path)
    return {"text": part.refusal}


def _media(part: Part, path: str, notes: Notes) -> WirePart:
    owner = part.document if part.HasField("document") else part
    media = getattr(owner, "media" if owner is not part else str(part.WhichOneof("kind")))
    if media.transcript:
        notes.dropped("ANSWER_AUDIO", f"{path}.transcript")
    return written_media(media, with_name=True)


def _document(part: Part, path: str, notes: Notes) -> WirePart:
    if part.document.HasField("media"):
        return _media(part, path, notes)
    return {"text": part.document.text}


def _reasoning(part: Part, path: str, notes: Notes) -> WirePart:
    del path, notes
    return {"text": thought_text(part.reasoning), "thought": True}


def _compaction(part: Part, path: str, notes: Notes) -> WirePart:
    notes.approximated("COMPACTION", path)
    return {"text": part.compaction.text, "thought": True}


def _call(part: Part, path: str, notes: Notes) -> WirePart:
    call = part.tool_call
    args, is_object = written_args(call)
    if not is_object:
        notes.approximated("TOOL_ARGUMENTS", f"{path}.tool_call.arguments_json")
    wire: WirePart = {"id": call.id} if call.id and not is_made_up(call.id) else {}
    return {"functionCall": wire | {"name": call.name, "args": args}}


def _server_call(part: Part, path: str, notes: Notes) -> WirePart | None:
    return _server_part(part.server_tool_call.kind_raw, part.server_tool_call.input_json, path, notes)


def _server_result(part: Part, path: str, notes: Notes) -> WirePart | None:
    return _server_part(part.server_tool_result.kind_raw, part.server_tool_result.content_json, path, notes)


def _server_part(key: str, text: str, path: str, notes: Notes) -> WirePart | None:
    given = as_object(text)
    if key in _SERVER_KEYS and given is not None:
        return {key: given}
    notes.dropped("ANSWER_SERVER_TOOLS", path)
    return None


def _raw(part: Part, path: str, notes: Notes) -> WirePart | None:
    if part.raw.protocol == GEMINI and as_object(part.raw.body_json) is not None:
        fields: WirePart = msgspec.json.decode(part.raw.body_json, type=dict[str, msgspec.Raw])
        return fields
    notes.dropped("ANSWER_RAW_PART", path)
    return None


def _unknown(part: Part, path: str, notes: Notes) -> None:
    del part
    notes.dropped("ANSWER_RAW_PART", path)


def _logprob(logprob: TokenLogprob) -> dict[str, Any]:
    wire: dict[str, Any] = {"token": logprob.token, "logProbability": logprob.logprob}
    if logprob.HasField("token_id"):
        wire["tokenId"] = logprob.token_id
    return wire


_WRITERS: Mapping[str, Callable[[Part, str, Notes], WirePart | None]] = {
    "text": _text,
    "refusal": _refusal,
    "image": _media,
    "audio": _media,
    "video": _media,
    "document": _document,
    "reasoning": _reasoning,
    "compaction": _compaction,
    "tool_call": _call,
    "tool_result": _unknown,
    "server_tool_call": _server_call,
    "server_tool_result": _server_result,
    "raw": _raw,
    "": _unknown,
}
