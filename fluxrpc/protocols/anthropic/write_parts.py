"""Parts of a conversation to content blocks of a request.

Invariant: whatever is left out or said in another way has a note; no block holds empty text, unless the caller speaks
this protocol and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from fluxrpc.ir.build import parts_of, result_parts
from fluxrpc.ir.presence import is_bare
from fluxrpc.protocols.anthropic.arguments import input_of
from fluxrpc.protocols.anthropic.citations import replayed_citation
from fluxrpc.protocols.anthropic.draft import Block, Draft
from fluxrpc.protocols.anthropic.words import ANTHROPIC, MOVED, SERVER_CALLS, SERVER_RESULTS
from fluxrpc.protocols.envelope import is_replayable
from fluxrpc.protocols.media import base64_of
from fluxrpc.protocols.node import raw
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_TOOL, Role
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import OpaqueState

__all__ = ["block_of", "parts_of", "plain_text"]

Written = Block | msgspec.Raw | None
_Write = Callable[[Draft, Part, str, Role.ValueType], Written]

_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_SAME_TYPE = MappingProxyType({"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg"})
_PDF = "application/pdf"
_PLAIN_DETAILS = frozenset({pb.MEDIA_DETAIL_UNSPECIFIED, pb.MEDIA_DETAIL_AUTO})
_NOTED_PHASES = frozenset({pb.TEXT_PHASE_OTHER, pb.TEXT_PHASE_COMMENTARY, pb.TEXT_PHASE_FINAL_ANSWER})


def block_of(draft: Draft, part: Part, path: str, role: Role.ValueType) -> Written:
    """The block for a part, or None where nothing is said."""
    kind = part.WhichOneof("kind") or "raw"
    block = _WRITERS[kind](draft, part, path, role)
    if is_bare(part):
        return block
    if isinstance(block, dict):
        draft.finish_block(block, part, path)
    if part.opaque and kind not in _KEEPS_STATE:
        draft.notes.dropped("REASONING_STATE", f"{path}.opaque")
    return block


def plain_text(block: Written) -> str | None:
    """The text of a block that is text and nothing else; None for all others."""
    return block["text"] if isinstance(block, dict) and block.keys() == {"type", "text"} else None


# --- text ---


def _text(draft: Draft, part: Part, path: str, role: Role.ValueType) -> Written:
    if not draft.exact and not part.text.strip():
        draft.notes.dropped("EMPTY_CONTENT", path)
        return None
    if part.phase in _NOTED_PHASES:
        draft.notes.dropped("TEXT_PHASE", f"{path}.phase")
    block: Block = {"type": "text", "text": part.text}
    if part.citations:
        citations = _citations(draft, part, path, role)
        if citations:
            block["citations"] = citations
    return block


def _citations(draft: Draft, part: Part, path: str, role: Role.ValueType) -> list[Block]:
    if draft.is_newer and role != ROLE_ASSISTANT:
        draft.notes.dropped("CITATION_HISTORY", f"{path}.citations")
        return []
    citations = []
    for index, citation in enumerate(part.citations):
        written = replayed_citation(citation, draft.context.target.service)
        if written is None:
            draft.notes.dropped("CITATION_HISTORY", f"{path}.citations[{index}]")
        else:
            citations.append(written)
    return citations


def _refusal(draft: Draft, part: Part, path: str, role: Role.ValueType) -> Written:
    draft.notes.approximated("REFUSAL_HISTORY", path)
    return _text(draft, Part(text=part.refusal), path, role)


def _compaction(draft: Draft, part: Part, path: str, role: Role.ValueType) -> Written:
    state = _own_state(draft, part)
    if state is not None:
        block: Block = {"type": "compaction", "encrypted_content": state.value.decode("utf-8", "replace")}
        if part.compaction.text:
            block["content"] = part.compaction.text
        return block
    if draft.exact:
        return {"type": "compaction", "content": part.compaction.text}
    if not part.compaction.text:
        draft.notes.dropped("COMPACTION", path)
        return None
    draft.notes.approximated("COMPACTION", path)
    return _text(draft, Part(text=part.compaction.text), path, role)


def _raw(draft: Draft, part: Part, path: str, _role: Role.ValueType) -> Written:
    if part.raw.protocol == ANTHROPIC:
        return raw(part.raw.body_json)
    draft.notes.dropped("RAW_PART", path)
    return None


# --- images, documents, sound ---


def _image(draft: Draft, part: Part, path: str, role: Role.ValueType) -> Written:
    if role == ROLE_ASSISTANT and not draft.exact:
        draft.notes.dropped("IMAGE", path, "the model's own turns hold no images here")
        return None
    image = part.image
    if image.detail not in _PLAIN_DETAILS:
        draft.notes.dropped("IMAGE_DETAIL", f"{path}.image.detail")
    mime_type = image.mime_type
    if not draft.exact and image.HasField("data"):
        mime_type = mime_type.partition(";")[0].strip().lower()
        mime_type = _SAME_TYPE.get(mime_type, mime_type)
        if mime_type not in _IMAGE_TYPES:
            draft.notes.dropped("MEDIA_TYPE", f"{path}.image.mime_type")
            return None
    source = _source(draft, image, mime_type, path=f"{path}.image", code="IMAGE_URL")
    return None if source is None else {"type": "image", "source": source}


def _source(draft: Draft, media: pb.Media, mime_type: str, *, path: str, code: str) -> Block | None:
    if media.HasField("data"):
        return {"type": "base64", "media_type": mime_type, "data": base64_of(media.data)}
    if media.HasField("url"):
        if draft.exact or media.url.lower().startswith(("https://", "http://")):
            return {"type": "url", "url": media.url}
        draft.notes.dropped(code, f"{path}.url")
        return None
    if draft.is_at_home:
        return {"type": "file", "file_id": media.file_id}
    draft.notes.dropped("FILE_ID", f"{path}.file_id")
    return None


def _document(draft: Draft, part: Part, path: str, role: Role.ValueType) -> Written:
    if role == ROLE_ASSISTANT and (draft.is_newer or not draft.exact):
        draft.notes.dropped("DOCUMENT", path, "the model's own turns hold no documents here")
        return None
    document = part.document
    place = path if path.startswith("documents[") else f"{path}.document"  # the request's own are no parts
    is_result = bool(document.source) and not document.HasField("media")
    if (is_result and document.context) or (document.source and not is_result):
        draft.notes.dropped("DOCUMENT_TITLE", f"{place}.{'context' if is_result else 'source'}")
    if is_result:
        block: Block = {"type": "search_result", "source": document.source, "title": document.title}
        block["content"] = _passages(draft, document, place)
    else:
        source = _document_source(draft, document, place)
        if source is None:
            return None
        block = {"type": "document", "source": source}
        title = document.title or document.media.filename or document.id
        if title:
            block["title"] = title
        if document.context:
            block["context"] = document.context
    if document.HasField("citations"):
        block["citations"] = {"enabled": document.citations}
    return block


def _document_source(draft: Draft, document: pb.Document, path: str) -> Block | None:
    match document.WhichOneof("content"):
        case "media":
            return _file(draft, document.media, f"{path}.media")
        case "parts":
            return {"type": "content", "content": _passages(draft, document, path)}
    return {"type": "text", "media_type": "text/plain", "data": document.text or document.data_json}


def _file(draft: Draft, media: pb.Media, path: str) -> Block | None:
    mime_type = media.mime_type if draft.exact else media.mime_type.partition(";")[0].strip().lower()
    if draft.exact or not media.HasField("data") or mime_type == _PDF:
        return _source(draft, media, mime_type, path=path, code="DOCUMENT_URL")
    if mime_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": media.data.decode("utf-8", "replace")}
    draft.notes.dropped("MEDIA_TYPE", f"{path}.mime_type")
    return None


def _passages(draft: Draft, document: pb.Document, path: str) -> list[Written]:
    """The passages of a document, or what else it holds as one passage."""
    if not document.HasField("parts"):
        return [{"type": "text", "text": document.text or document.data_json}]
    blocks = (
        block_of(draft, part, f"{path}.parts.parts[{index}]", ROLE_TOOL)
        for index, part in enumerate(document.parts.parts)
    )
    return [block for block in blocks if block is not None]


def _audio(draft: Draft, part: Part, path: str, role: Role.ValueType) -> Written:
    if part.audio.transcript:
        draft.notes.approximated("AUDIO", path)
        return _text(draft, Part(text=part.audio.transcript), path, role)
    draft.notes.dropped("AUDIO", path)
    return None


def _video(draft: Draft, _part: Part, path: str, _role: Role.ValueType) -> Written:
    draft.notes.dropped("VIDEO", path)
    return None


# --- reasoning ---


def _reasoning(draft: Draft, part: Part, path: str, _role: Role.ValueType) -> Written:
    state = _own_state(draft, part)
    if part.reasoning.redacted:
        if state is not None:
            return {"type": "redacted_thinking", "data": state.value.decode("utf-8", "replace")}
    elif state is not None or (draft.exact and _was_unsigned(part)):
        block: Block = {"type": "thinking", "thinking": part.reasoning.text}
        block["signature"] = "" if state is None else state.value.decode("utf-8", "replace")
        return block
    draft.notes.dropped("REASONING_HISTORY", path)
    return None


def _was_unsigned(part: Part) -> bool:
    """Whether the caller sent it without any signature: copies of the API give none."""
    return not part.opaque and all(extra.key != MOVED for extra in part.extras)


def _own_state(draft: Draft, part: Part) -> OpaqueState | None:
    """State that this provider gave, if any."""
    service = draft.context.target.service
    return next((state for state in part.opaque if is_replayable(state, ANTHROPIC, service)), None)


# --- tools ---


def _tool_call(draft: Draft, part: Part, path: str, _role: Role.ValueType) -> Written:
    call = part.tool_call
    arguments, is_wrapped = input_of(call)
    if is_wrapped:
        draft.notes.approximated("TOOL_ARGUMENTS", f"{path}.tool_call.arguments_json")
    call_id = draft.call_id(call.id)
    if call_id != call.id:
        draft.notes.renamed("TOOL_CALL_ID", f"{path}.tool_call.id")
    name = draft.name(call.name, f"{path}.tool_call.name")
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _tool_result(draft: Draft, part: Part, path: str, _role: Role.ValueType) -> Written:
    result = part.tool_result
    block: Block = {"type": "tool_result", "tool_use_id": draft.call_id(result.call_id)}
    if result.HasField("parts"):
        blocks = _result_blocks(draft, result, path)
        if blocks or draft.exact:
            block["content"] = blocks
    elif result.WhichOneof("output") is not None:
        block["content"] = result.text or result.object_json
    if result.HasField("is_error"):
        block["is_error"] = result.is_error
    return block


_RESULT_KINDS = frozenset({"text", "image", "document", "raw"})


def _result_blocks(draft: Draft, result: pb.ToolResult, path: str) -> list[Written]:
    blocks = []
    for index, part in enumerate(result_parts(result)):
        place = f"{path}.tool_result.parts.parts[{index}]"
        if part.WhichOneof("kind") not in _RESULT_KINDS:
            draft.notes.dropped("TOOL_RESULT_MEDIA", place)
        else:
            blocks.append(block_of(draft, part, place, ROLE_TOOL))
    return [block for block in blocks if block is not None]


def _server_call(draft: Draft, part: Part, path: str, _role: Role.ValueType) -> Written:
    call = part.server_tool_call
    arguments = raw(call.input_json or "{}")
    if call.kind_raw == "mcp_tool_use":
        return {"type": "mcp_tool_use", "id": call.id, "name": call.name, "input": arguments}
    if draft.exact or call.kind_raw in SERVER_CALLS:
        return {"type": "server_tool_use", "id": call.id, "name": call.kind_raw, "input": arguments}
    draft.notes.dropped("SERVER_TOOL_HISTORY", path)
    return None


def _server_result(draft: Draft, part: Part, path: str, _role: Role.ValueType) -> Written:
    result = part.server_tool_result
    if result.kind_raw not in SERVER_RESULTS:
        draft.notes.dropped("SERVER_TOOL_HISTORY", path)
        return None
    block: Block = {"type": result.kind_raw, "tool_use_id": result.call_id}
    if result.content_json:
        block["content"] = raw(result.content_json)
    return block


_KEEPS_STATE = frozenset({"reasoning", "compaction", "raw"})
"""Kinds that are judged by their state; that of others has no place here."""

_WRITERS: Mapping[str, _Write] = MappingProxyType(
    {
        "text": _text,
        "refusal": _refusal,
        "image": _image,
        "audio": _audio,
        "video": _video,
        "document": _document,
        "reasoning": _reasoning,
        "tool_call": _tool_call,
        "tool_result": _tool_result,
        "server_tool_call": _server_call,
        "server_tool_result": _server_result,
        "compaction": _compaction,
        "raw": _raw,
    }
)
