"""Parts of Gemini contents to parts of the IR, for requests and answers alike.

Invariant: a part that is not understood becomes a `RawPart` that holds all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from fluxrpc.protocols.envelope import unseal
from fluxrpc.protocols.gemini.wire import CODE_PARTS, DETAILS, ENVELOPE, GEMINI, SERVER_PARTS, CamelNode, as_object
from fluxrpc.protocols.media import bytes_of
from fluxrpc.protocols.node import spelling
from fluxrpc.v1.part_pb2 import MEDIA_DETAIL_OTHER, Media, Part, RawPart, ToolResult
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_COMPACTION,
    OPAQUE_KIND_REDACTED_REASONING,
    OPAQUE_KIND_SIGNATURE,
    OpaqueState,
)
from fluxrpc.v1.tool_pb2 import SERVER_TOOL_KIND_CODE, SERVER_TOOL_KIND_OTHER

__all__ = ["read_part", "read_state"]

_FILES_API = "https://generativelanguage.googleapis.com/"
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)


class _ServerPart(msgspec.Struct, rename="camel"):
    id: str | None = None
    tool_type: str | None = None
    outcome: str | None = None


_SERVER_PART = msgspec.json.Decoder(_ServerPart)


def read_part(node: CamelNode, *, service: str = "", model: str = "") -> Part:
    """One part. Calls and results without an id have none yet. `service` and `model` gave it, where that is known.

    Raises:
        JsonFault: a field is not of its type.
    """
    part = Part()
    if node.is_only_text("text"):  # as nearly all are
        part.text = node.text("text") or ""
        return part
    read = next((read for key, read in _READERS.items() if key in node), None)
    if read is None:
        body = node.rest()
        keys = [key for key in _FIELDS.decode(body) if not key.startswith(("thought", "part"))]
        part.raw.CopyFrom(RawPart(protocol=GEMINI, type=next(iter(keys), ""), body_json=body))
        return part
    read(node, part)
    read_state(part, node.text("thoughtSignature") or "", service=service, model=model)
    node.carry(part, GEMINI)
    return part


def read_state(part: Part, signature: str, *, service: str, model: str) -> None:
    """A signature: Gemini's own, or the state of another provider in an envelope."""
    if not signature:
        return
    state = _opened(signature)
    if state is None:
        state = OpaqueState(
            kind=OPAQUE_KIND_SIGNATURE, origin=GEMINI, service=service, model=model, value=signature.encode()
        )
    elif state.kind == OPAQUE_KIND_REDACTED_REASONING:
        part.reasoning.redacted = True
    elif state.kind == OPAQUE_KIND_COMPACTION:
        part.compaction.text = part.reasoning.text
    part.opaque.append(state)


def _opened(signature: str) -> OpaqueState | None:
    """What is in an envelope; None for Gemini's own."""
    if not signature.startswith(ENVELOPE):
        return None
    try:
        return unseal(bytes_of(signature, path="").decode())
    except ValueError:  # of base64 (JsonFault) or UTF-8: it only begins like one
        return None


def _text(node: CamelNode, part: Part) -> None:
    text = node.text("text") or ""
    is_thought = node.flag("thought")
    if is_thought:
        part.reasoning.text = text
    else:
        part.text = text
    if is_thought is False:
        part.extras.append(spelling(GEMINI, "thought", "false"))


def _call(node: CamelNode, part: Part) -> None:
    wire = node.inner("functionCall")
    call = part.tool_call
    call.id = wire.text("id") or ""
    call.name = wire.text("name") or ""
    if "args" in wire:
        call.arguments_json = wire.json("args")
    part.extras.extend(wire.extras(GEMINI, "functionCall."))


def _result(node: CamelNode, part: Part) -> None:
    wire = node.inner("functionResponse")
    result = part.tool_result
    result.call_id = wire.text("id") or ""
    result.name = wire.text("name") or ""
    if "response" in wire and not wire.is_object("response"):
        raise wire.fault("response", "an object")
    response = wire.json("response")
    if response:
        _take_response(result, response)
    media = [read_part(each) for each in wire.nodes("parts")]
    if media:
        text = result.text or result.object_json
        parts = [*([Part(text=text)] if text else []), *media]
        result.parts.parts.extend(parts)
    if response and (media or as_object(result.text) is not None):
        part.extras.append(spelling(GEMINI, "functionResponse.response", response))
    part.extras.extend(wire.extras(GEMINI, "functionResponse."))


def _take_response(result: ToolResult, response: str) -> None:
    """`{"output": "…"}` and `{"error": "…"}` are text, all else stays an object."""
    fields = _FIELDS.decode(response)
    key = next(iter(fields), "")
    if len(fields) != 1 or key not in {"output", "error"}:
        result.object_json = response
        return
    if key == "error":
        result.is_error = True
    value = fields[key]
    if bytes(memoryview(value)[:1]) == b'"':
        result.text = _TEXT.decode(value)
    else:
        result.object_json = response


def _inline(node: CamelNode, part: Part) -> None:
    wire = node.inner("inlineData")
    media = Media(mime_type=wire.text("mimeType") or "", filename=wire.text("displayName") or "")
    media.data = bytes_of(wire.text("data") or "", path=wire.at("data"))
    part.extras.extend(wire.extras(GEMINI, "inlineData."))
    _place(node, part, media)


def _file(node: CamelNode, part: Part) -> None:
    wire = node.inner("fileData")
    media = Media(mime_type=wire.text("mimeType") or "", filename=wire.text("displayName") or "")
    address = wire.text("fileUri") or ""
    if address.startswith(_FILES_API):  # nobody but the owner of the key can read it
        media.file_id = address
    else:
        media.url = address
    part.extras.extend(wire.extras(GEMINI, "fileData."))
    _place(node, part, media)


def _place(node: CamelNode, part: Part, media: Media) -> None:
    """Media by the beginning of their type; what is neither image, sound nor video is a document."""
    resolution = node.node("mediaResolution")
    word = (resolution.text("level") if resolution else None) or ""
    if word:
        media.detail = DETAILS.get(word.upper(), MEDIA_DETAIL_OTHER)
        if media.detail == MEDIA_DETAIL_OTHER:
            media.detail_raw = word
    if resolution:
        part.extras.extend(resolution.extras(GEMINI, "mediaResolution."))
    kind = media.mime_type.partition("/")[0].lower()
    if kind in {"image", "audio", "video"}:
        getattr(part, kind).CopyFrom(media)
    else:
        part.document.media.CopyFrom(media)


def _server_part(key: str) -> Callable[[CamelNode, Part], None]:
    """Parts of the provider's own tools: kept as they stand, for they are sent back."""

    def read(node: CamelNode, part: Part) -> None:
        if not node.is_object(key):
            raise node.fault(key, "an object")
        text = node.json(key)
        try:
            wire = _SERVER_PART.decode(text)
        except msgspec.MsgspecError:
            raise node.fault(key, "strings in id, toolType and outcome") from None
        kind = SERVER_TOOL_KIND_CODE
        if key not in CODE_PARTS:
            kind = SERVER_PARTS.get((wire.tool_type or "").upper(), SERVER_TOOL_KIND_OTHER)
        if key in {"executableCode", "toolCall"}:
            call = part.server_tool_call
            call.id, call.kind, call.kind_raw, call.input_json = wire.id or "", kind, key, text
        else:
            result = part.server_tool_result
            result.call_id, result.kind, result.kind_raw, result.content_json = wire.id or "", kind, key, text
            outcome = wire.outcome or ""
            result.error_code = "" if outcome == "OUTCOME_OK" else outcome

    return read


_READERS: Mapping[str, Callable[[CamelNode, Part], None]] = {
    "functionCall": _call,
    "functionResponse": _result,
    "inlineData": _inline,
    "fileData": _file,
    "text": _text,
    **{key: _server_part(key) for key in (*CODE_PARTS, "toolCall", "toolResponse")},
}
"""The field that makes a part what it is, to its reader."""
