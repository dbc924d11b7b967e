"""`MessageResponse` to a body of `GenerateContentResponse`."""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.answer_items import BETWEEN_ITEMS, next_item
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gemini.finish import written_block
from fluxrpc.protocols.gemini.grounding import Grounding, written_grounding
from fluxrpc.protocols.gemini.offsets import Offsets
from fluxrpc.protocols.gemini.usage import written_usage
from fluxrpc.protocols.gemini.wire import GEMINI, TRAFFIC, inverse
from fluxrpc.protocols.gemini.write_answer import put_extras, write_finish, written_logprobs, written_part
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.response_pb2 import Choice, Finish, MessageResponse

__all__ = ["METADATA", "write_response", "written_feedback", "written_head", "written_traffic"]

METADATA = frozenset({"groundingMetadata", "citationMetadata"})
"""Extras of a choice that say all of its citations."""
_TRAFFIC_WORDS = inverse(TRAFFIC)


def write_response(response: MessageResponse, context: Context, notes: Notes) -> bytes:
    """See `Translator.write_response`."""
    own = context.target.protocol is Protocol.GEMINI
    body: dict[str, Any] = {}
    refused = [choice.finish for choice in response.choices if choice.finish.prompt_blocked]
    if refused:
        body["promptFeedback"] = written_feedback(refused[0], own=own)
    else:
        body["candidates"] = [_candidate(choice, notes, own=own) for choice in response.choices]
    if response.HasField("usage"):
        body["usageMetadata"] = written_usage(response.usage, notes, written_traffic(response))
    body.update(written_head(response))
    put_extras(body, response.extras, "", notes)
    return msgspec.json.encode(body)


def written_head(response: MessageResponse) -> dict[str, Any]:
    """What stands around the candidates, on each frame of a stream too."""
    head: dict[str, Any] = {}
    if response.model:
        head["modelVersion"] = response.model
    if response.id:
        head["responseId"] = response.id
    if response.HasField("created"):
        head["createTime"] = response.created.ToJsonString()
    return head


def written_traffic(response: MessageResponse) -> str:
    """The word for the tier that served the answer; "" where Gemini has none."""
    return _TRAFFIC_WORDS.get(response.service_tier, "")


def written_feedback(finish: Finish, *, own: bool) -> dict[str, Any]:
    """`promptFeedback` of a refused prompt."""
    feedback: dict[str, Any] = {"blockReason": written_block(finish, own=own)}
    if finish.message:
        feedback["blockReasonMessage"] = finish.message
    merge_extras(feedback, finish.extras, GEMINI)
    return feedback


def _candidate(choice: Choice, notes: Notes, *, own: bool) -> dict[str, Any]:
    path = f"choices[{choice.index}]"
    parts: list[dict[str, Any]] = []
    texts: list[Offsets | None] = []
    cited: list[Grounding] = []
    item = ""
    for number, part in enumerate(choice.parts):
        written = written_part(part, f"{path}.parts[{number}]", notes)
        if written is not None:
            if part.HasField("text"):
                is_new, item = next_item(item, part)
                if is_new:
                    texts.append(None)
                    parts.append({"text": BETWEEN_ITEMS})
            cited.extend((len(parts), citation) for citation in part.citations)
            texts.append(Offsets(part.text) if part.text else None)
            parts.append(written)
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": choice.index}
    write_finish(candidate, choice.finish, notes, own=own)
    logprobs = [each for part in choice.parts for each in part.logprobs]
    if logprobs:
        candidate["logprobsResult"] = written_logprobs(logprobs)
    grounding = written_grounding(cited, texts, notes, path) if cited else {}
    if grounding and not any(extra.key in METADATA for extra in choice.extras):
        candidate["groundingMetadata"] = grounding
    put_extras(candidate, choice.extras, path, notes)
    if extras := choice.finish.extras:
        merge_extras(candidate, extras, GEMINI)
    return candidate
