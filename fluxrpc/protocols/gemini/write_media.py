"""Media, thoughts and call arguments as Gemini writes them, for requests and answers alike."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fluxrpc.protocols.gemini.wire import DETAILS, as_object, inverse, quoted
from fluxrpc.protocols.media import base64_of
from fluxrpc.protocols.undo import CUSTOM_INPUT
from fluxrpc.v1.part_pb2 import Media, Reasoning, ToolCall

__all__ = ["can_fetch", "thought_text", "written_args", "written_media", "written_resolution"]

# What Google fetches for sure: its own storage, the Files API, videos of YouTube. Other https depends on the model.
_FETCHED = re.compile(
    r"gs://|https://generativelanguage\.googleapis\.com/|https://(?:www\.)?youtube\.com/|https://youtu\.be/"
)
_DETAIL_WORDS = inverse(DETAILS)
_EMPTY = msgspec.Raw(b"{}")


def can_fetch(url: str) -> bool:
    """Whether the service fetches from there itself."""
    return _FETCHED.match(url) is not None


def written_media(media: Media, *, with_name: bool) -> dict[str, Any]:
    """`inlineData` or `fileData`."""
    source = media.url or media.file_id
    fields: dict[str, Any] = {"fileUri": source} if source else {"data": base64_of(media.data)}
    if media.mime_type:
        fields["mimeType"] = media.mime_type
    if media.filename and with_name:
        fields["displayName"] = media.filename
    return {"fileData" if source else "inlineData": fields}


def written_resolution(media: Media) -> str:
    """The word for how closely to look; "" where nothing is said, or nothing that Gemini knows."""
    return _DETAIL_WORDS.get(media.detail, "")


def thought_text(reasoning: Reasoning) -> str:
    """All that is shown of a reasoning: Gemini has one text for it."""
    return "\n\n".join(filter(None, (reasoning.text, *reasoning.summaries)))


def written_args(call: ToolCall) -> tuple[msgspec.Raw, bool]:
    """The arguments as a JSON object, and whether they were one.

    Models write what is no JSON, and JSON that is no object; both can be told from what the call should have been.
    """
    if call.WhichOneof("input") == "custom_text":
        return _raw({CUSTOM_INPUT: call.custom_text}), True
    text = call.arguments_json
    if not text.strip():
        return _EMPTY, True
    args = as_object(text)
    if args is not None:
        return args, True
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return _raw({"INVALID_JSON": text}), False
    return msgspec.Raw(b'{"value":' + text.encode() + b"}"), False


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(quoted(value).encode())
