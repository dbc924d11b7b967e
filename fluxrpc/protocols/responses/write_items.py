"""Parts of the model to items of OpenAI Responses: the forms that history and answers share, without ids.

Which ids an item gets, and whether it may be written at all, is decided by those who call.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.media import base64_of
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.responses.read_items import HOSTED_CALLS
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1 import tool_pb2 as tool_pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES, Extra

__all__ = ["HOSTED", "call_item", "compaction_item", "hosted_item", "image_item", "merged", "reasoning_item", "texts"]


HOSTED = HOSTED_CALLS
"""Item types of the provider's own tools."""


def texts(kind: str, found: list[str]) -> list[dict[str, str]]:
    """A list of typed texts."""
    return [{"type": kind, "text": text} for text in found]


def reasoning_item(part: pb.Part, encrypted: str | None, *, keeps_kind: bool = True) -> dict[str, Any]:
    """Reasoning. Unless it `keeps_kind`, its text is shown as a summary, which is what callers look for."""
    thought = part.reasoning
    summaries, text = list(thought.summaries), thought.text
    if text and not keeps_kind:
        summaries, text = [*summaries, text], ""
    item: dict[str, Any] = {"type": "reasoning", "summary": texts("summary_text", summaries)}
    if text:
        item["content"] = texts("reasoning_text", [text])
    if encrypted is not None:
        item["encrypted_content"] = encrypted
    return merged(item, part.extras)


def call_item(part: pb.Part, *, call_id: str, name: str, default: str) -> dict[str, Any]:
    """A call of a tool of the caller's; `default` stands for arguments that are "" or missing."""
    call = part.tool_call
    if call.HasField("custom_text"):
        item = {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": call.custom_text}
    else:
        arguments = call.arguments_json or default
        item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    return merged(item, part.extras)


def hosted_item(part: pb.Part, result: pb.Part | None) -> dict[str, Any] | None:
    """A call of a tool that the provider runs, with its result; None where this protocol has no such item.

    Of other providers' tools only a web search has a form here, and its results have none.
    """
    call = part.server_tool_call
    form = HOSTED_CALLS.get(call.kind_raw)
    if form is None:
        return _foreign_search(call)
    item: dict[str, Any] = {"type": call.kind_raw}
    if call.status_raw:
        item["status"] = call.status_raw
    if call.name:
        item["name"] = call.name
    if call.input_json or form.input_is_json_text:
        item[form.input] = call.input_json if form.input_is_json_text else raw(call.input_json)
    if result is not None:
        item[form.result] = raw(result.server_tool_result.content_json)
        merged(item, result.extras)
    return merged(item, part.extras)


def image_item(part: pb.Part) -> dict[str, Any]:
    """An image that the model made."""
    item: dict[str, Any] = {
        "type": "image_generation_call",
        "status": "completed",
        "result": base64_of(part.image.data),
    }
    return merged(item, part.extras)


def compaction_item(part: pb.Part, encrypted: str) -> dict[str, Any]:
    """A compacted history."""
    return merged({"type": "compaction", "encrypted_content": encrypted}, part.extras)


def merged(item: dict[str, Any], extras: Any) -> dict[str, Any]:
    """The item with its own extras put back."""
    own: list[Extra] = [each for each in extras if each.key != "~item"]
    merge_extras(item, own, PROTOCOL_RESPONSES)
    return item


def _foreign_search(call: pb.ServerToolCall) -> dict[str, Any] | None:
    if call.kind != tool_pb.SERVER_TOOL_KIND_WEB_SEARCH:
        return None
    action: dict[str, Any] = {"type": "search", "query": _query(call.input_json)}
    return {"type": "web_search_call", "status": "completed", "action": action}


class _Search(msgspec.Struct):
    query: str = ""


_SEARCH = msgspec.json.Decoder(_Search)


def _query(text: str) -> str:
    try:
        return _SEARCH.decode(text).query
    except (msgspec.MsgspecError, RecursionError):
        return ""
