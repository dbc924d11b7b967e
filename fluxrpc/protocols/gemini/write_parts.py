"""Parts of a request's messages as Gemini writes them. What it cannot say is noted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fluxrpc.ir.presence import is_bare
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.envelope import is_replayable
from fluxrpc.protocols.gemini.wire import CODE_PARTS, GEMINI, as_object, is_made_up
from fluxrpc.protocols.gemini.write_media import (
    can_fetch,
    thought_text,
    written_args,
    written_media,
    written_resolution,
)
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.protocols.turns import Placed
from fluxrpc.v1.part_pb2 import MEDIA_DETAIL_AUTO, MEDIA_DETAIL_UNSPECIFIED, Document, Media, Part, ToolResult

__all__ = ["PartWriter", "WirePart"]

WirePart = dict[str, Any]

_SERVER_KEYS = frozenset({*CODE_PARTS, "toolCall", "toolResponse"})
_ATTACHED = "The result is attached to this message."


class PartWriter:
    """Writes the parts of one request."""

    def __init__(self, context: Context, notes: Notes, names: ToolNames) -> None:
        self.own = context.caller is Protocol.GEMINI
        self.moves_signatures = context.caller not in {None, Protocol.GEMINI}
        """The caller's protocol has room for signatures on the reasoning only."""
        self._context = context
        self._notes = notes
        self._names = names

    def written(self, placed: Placed) -> list[WirePart]:
        """What stands for a part: nothing, one part, or several."""
        part, path = placed.part, placed.path
        written = _WRITERS[part.WhichOneof("kind") or ""](self, part, path)
        if is_bare(part):
            return written
        self._note_side(part, path)
        signature = self._signature(part, path)
        if written:
            if signature:
                written[0]["thoughtSignature"] = signature
            merge_extras(written[0], part.extras, GEMINI)
        return written

    # --- the kinds ---

    def text(self, part: Part, path: str) -> list[WirePart]:
        """Text."""
        del path
        return [{"text": part.text}]

    def refusal(self, part: Part, path: str) -> list[WirePart]:
        """A refusal: text like any other."""
        self._notes.approximated("REFUSAL_HISTORY", path)
        return [{"text": part.refusal}]

    def image(self, part: Part, path: str) -> list[WirePart]:
        """An image."""
        return self._media(part.image, f"{path}.image", "IMAGE_URL")

    def audio(self, part: Part, path: str) -> list[WirePart]:
        """Sound."""
        return self._media(part.audio, f"{path}.audio", "AUDIO")

    def video(self, part: Part, path: str) -> list[WirePart]:
        """A video."""
        return self._media(part.video, f"{path}.video", "VIDEO")

    def document(self, part: Part, path: str) -> list[WirePart]:
        """A document: a file as it is, anything else as text under its title."""
        document, path = part.document, f"{path}.document"
        if document.citations:
            self._notes.dropped("DOCUMENT_CITATIONS", f"{path}.citations")
        if document.HasField("media"):
            for name in ("title", "context", "source"):
                if getattr(document, name):
                    self._notes.dropped("DOCUMENT_TITLE", f"{path}.{name}")
            return self._media(document.media, f"{path}.media", "DOCUMENT_URL")
        return self._document_text(document, path)

    def reasoning(self, part: Part, path: str) -> list[WirePart]:
        """Gemini's own thoughts; those of another model would be taken for its own."""
        if not self.own and not any(map(self._is_ours, part.opaque)):
            self._notes.dropped("REASONING_HISTORY", path)
            return []
        return [{"text": thought_text(part.reasoning), "thought": True}]

    def tool_call(self, part: Part, path: str) -> list[WirePart]:
        """A call."""
        call = part.tool_call
        path = f"{path}.tool_call"
        wire: WirePart = {} if is_made_up(call.id) or not call.id else {"id": call.id}
        wire["name"] = self._names.written(call.name, f"{path}.name")
        if call.WhichOneof("input") is not None:
            args, is_object = written_args(call)
            if not is_object:
                self._notes.approximated("TOOL_ARGUMENTS", f"{path}.arguments_json")
            wire["args"] = args
        return [{"functionCall": wire}]

    def tool_result(self, part: Part, path: str) -> list[WirePart]:
        """A result: always an object, its media apart."""
        result, path = part.tool_result, f"{path}.tool_result"
        wire: WirePart = {} if is_made_up(result.call_id) or not result.call_id else {"id": result.call_id}
        wire["name"] = self._names.written(result.name, f"{path}.name")
        media: list[WirePart] = []
        texts = [result.text]
        for number, each in enumerate(result.parts.parts):
            place = f"{path}.parts.parts[{number}]"
            for written in self.written(Placed(part=each, path=place)):
                if set(written) & {"inlineData", "fileData"}:
                    media.append(written)
                else:
                    texts.append(written.get("text", ""))
        text = "\n".join(filter(None, texts))
        if not media:
            wire["response"] = _response(result, text)
            return [{"functionResponse": wire}]
        if self._context.target.gates.result_media:
            wire["response"] = _response(result, text)
            wire["parts"] = media
            return [{"functionResponse": wire}]
        self._notes.approximated("TOOL_RESULT_MEDIA", f"{path}.parts")
        wire["response"] = _response(result, text or _ATTACHED)
        return [{"functionResponse": wire}, *media]

    def server_tool_call(self, part: Part, path: str) -> list[WirePart]:
        """A call of Google's tools; other providers' cannot be replayed."""
        return self._server_part(part.server_tool_call.kind_raw, part.server_tool_call.input_json, path)

    def server_tool_result(self, part: Part, path: str) -> list[WirePart]:
        """The result of one."""
        return self._server_part(part.server_tool_result.kind_raw, part.server_tool_result.content_json, path)

    def compaction(self, part: Part, path: str) -> list[WirePart]:
        """A summary of earlier turns: as text, where it can be read."""
        if not part.compaction.text:
            self._notes.dropped("COMPACTION", path)
            return []
        self._notes.approximated("COMPACTION", path)
        return [{"text": part.compaction.text}]

    def raw(self, part: Part, path: str) -> list[WirePart]:
        """A part that only one protocol knows."""
        if part.raw.protocol == GEMINI and as_object(part.raw.body_json) is not None:
            return [msgspec.json.decode(part.raw.body_json, type=dict[str, msgspec.Raw])]
        self._notes.dropped("RAW_PART", path)
        return []

    def unknown(self, part: Part, path: str) -> list[WirePart]:
        """A part without a kind says nothing."""
        del part
        self._notes.dropped("RAW_PART", path)
        return []

    # --- what they share ---

    def _media(self, media: Media, path: str, code: str) -> list[WirePart]:
        if not self.own:
            if media.url and not can_fetch(media.url):
                self._notes.dropped(code, path, "Gemini fetches nothing from there; the bytes themselves are needed")
                return []
            if media.file_id and not can_fetch(media.file_id):
                self._notes.dropped("FILE_ID", f"{path}.file_id")
                return []
            if media.filename:
                self._notes.dropped("FILE_NAME", f"{path}.filename")
        written = written_media(media, with_name=self.own)
        word = written_resolution(media) or (media.detail_raw if self.own else "")
        if word:
            written["mediaResolution"] = {"level": word}
        elif media.detail not in {MEDIA_DETAIL_UNSPECIFIED, MEDIA_DETAIL_AUTO}:
            self._notes.dropped("IMAGE_DETAIL", f"{path}.detail")
        return [written]

    def _document_text(self, document: Document, path: str) -> list[WirePart]:
        texts = [document.title or document.id, document.source, document.context]
        others: list[WirePart] = []
        if document.HasField("parts"):
            self._notes.approximated("DOCUMENT_PARTS", path)
            for number, part in enumerate(document.parts.parts):
                if part.HasField("text"):
                    texts.append(part.text)
                else:
                    others.extend(self.written(Placed(part=part, path=f"{path}.parts.parts[{number}]")))
        elif document.data_json:
            self._notes.approximated("DOCUMENT_DATA", path)
            texts.append(document.data_json)
        else:
            self._notes.approximated("DOCUMENT", path)
            texts.append(document.text)
        return [{"text": "\n\n".join(filter(None, texts))}, *others]

    def _server_part(self, key: str, text: str, path: str) -> list[WirePart]:
        given = as_object(text)
        if key in _SERVER_KEYS and given is not None:
            return [{key: given}]
        self._notes.dropped("SERVER_TOOL_HISTORY", path)
        return []

    def _is_ours(self, state: Any) -> bool:
        return is_replayable(state, GEMINI, self._context.target.service)

    def _signature(self, part: Part, path: str) -> str:
        """The signature to write; what belongs to others stays behind."""
        ours = [state for state in part.opaque if self._is_ours(state)]
        if len(ours) < len(part.opaque):
            self._notes.dropped("REASONING_STATE", f"{path}.opaque")
        return ours[0].value.decode() if ours else ""

    def _note_side(self, part: Part, path: str) -> None:
        if part.citations:
            self._notes.dropped("CITATION_HISTORY", f"{path}.citations")
        if part.phase:
            self._notes.dropped("TEXT_PHASE", f"{path}.phase")
        if part.HasField("cache_breakpoint"):
            self._notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
        self._notes.foreign_extras(part.extras, GEMINI, path)


def _response(result: ToolResult, text: str) -> Any:
    """`output` and `error` are understood by the model; any other object is the output as a whole."""
    given = as_object(result.object_json)
    if given is not None:
        fields = msgspec.json.decode(given, type=dict[str, msgspec.Raw])
        return {"error": given} if result.is_error and "error" not in fields else given
    if result.is_error:
        return {"error": text}
    return as_object(text) or {"output": text}


_WRITERS: Mapping[str, Callable[[PartWriter, Part, str], list[WirePart]]] = {
    "text": PartWriter.text,
    "refusal": PartWriter.refusal,
    "image": PartWriter.image,
    "audio": PartWriter.audio,
    "video": PartWriter.video,
    "document": PartWriter.document,
    "reasoning": PartWriter.reasoning,
    "tool_call": PartWriter.tool_call,
    "tool_result": PartWriter.tool_result,
    "server_tool_call": PartWriter.server_tool_call,
    "server_tool_result": PartWriter.server_tool_result,
    "compaction": PartWriter.compaction,
    "raw": PartWriter.raw,
    "": PartWriter.unknown,
}
