"""What whole answers and streams of OpenAI Chat Completions share: citations, probabilities, the head. Lenient to read.

Works on decoded values; whatever is not of the expected shape is left out, for it is no reason to refuse an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.json_text import without_halves
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.openai.wire_fields import extras_of
from fluxrpc.protocols.openai.words import OPENAI, SERVICE_TIER
from fluxrpc.protocols.surrogates import HalfJoiner
from fluxrpc.v1.part_pb2 import (
    CITATION_SOURCE_KIND_URL,
    Citation,
    CitationSource,
    TokenLogprob,
)
from fluxrpc.v1.response_pb2 import MessageResponse

__all__ = [
    "LATEST_SECONDS",
    "annotations_of",
    "answer_id",
    "citations_of",
    "clean",
    "head_of",
    "logprobs_of",
    "seconds_of",
    "tier_of",
    "whole_text",
    "write_logprobs",
]

LATEST_SECONDS = 253402300799
"""The last second that a `Timestamp` can say (year 9999)."""
URL_CITATION = "url_citation"
_ID_PREFIX = "chatcmpl-"
_UINT32_MAX = 2**32 - 1


def whole_text(text: str) -> str:
    """The text with halves of surrogate pairs replaced."""
    if text.isascii():
        return text
    joiner = HalfJoiner()
    return joiner.feed(text) + joiner.close()


def clean(value: Any) -> Any:
    """A decoded value without halves of surrogate pairs."""
    return msgspec.json.decode(without_halves(json.dumps(value).encode()))


def head_of(identity: str | None, model: str | None, created: float | None) -> MessageResponse:
    """The answer's head: what stands around the choices."""
    response = MessageResponse()
    response.id = whole_text(identity or "")
    response.model = whole_text(model or "")
    if created is not None and 0 < created <= LATEST_SECONDS:
        response.created.seconds = int(created)
    return response


def answer_id(response: MessageResponse, context: Context) -> str:
    """The id that a client sees: that of an answer of this protocol, else one made of it, the same over a stream."""
    if response.id and (context.target.protocol is Protocol.OPENAI or response.id.startswith(_ID_PREFIX)):
        return response.id
    return f"{_ID_PREFIX}{response.id or context.now}"


def seconds_of(response: MessageResponse, context: Context) -> int:
    """When the answer was made, in Unix seconds."""
    return response.created.seconds if response.HasField("created") else context.now


def tier_of(response: MessageResponse, context: Context) -> str:
    """The word for the tier that served; "" where there is none. Unknown words are passed on in this protocol only."""
    raw = response.service_tier_raw if context.target.protocol is Protocol.OPENAI else ""
    return SERVICE_TIER.say(response.service_tier, raw)


def citations_of(annotations: Any) -> list[Citation]:
    """`annotations` of a message or a delta."""
    return [_citation(each) for each in annotations if isinstance(each, dict)] if isinstance(annotations, list) else []


def _citation(record: dict[str, Any]) -> Citation:
    kind = record.get("type")
    details = record.get(URL_CITATION)
    if kind != URL_CITATION or not isinstance(details, dict):
        return Citation(kind_raw=kind if isinstance(kind, str) else "", extras=extras_of(record))
    rest = dict(details)
    texts = {key: rest.pop(key) for key in ("title", "url") if isinstance(rest.get(key), str)}
    citation = Citation(sources=[CitationSource(kind=CITATION_SOURCE_KIND_URL, **texts)])
    start, end = rest.get("start_index"), rest.get("end_index")
    if type(start) is int and type(end) is int and 0 <= start <= end <= _UINT32_MAX:
        citation.start, citation.end = start, end
        del rest["start_index"], rest["end_index"]
    citation.extras.extend(extras_of(rest, f"{URL_CITATION}."))
    return citation


def annotations_of(citation: Citation, *, shift: int, length: int) -> list[dict[str, Any]]:
    """What this protocol can say of a citation: one annotation for each web page, or its own record as it was.

    `shift` is where the cited text begins in the content, `length` how long it is: it stands for the whole text.
    """
    own = [extra for extra in citation.extras if extra.protocol == OPENAI]
    if citation.kind_raw and not citation.sources:
        record: dict[str, Any] = {}
        merge_extras(record, own, OPENAI)
        return [record] if record else []
    start, end = (citation.start, citation.end) if citation.HasField("end") else (0, length)
    written = []
    for source in citation.sources:
        if source.url:
            details = {"end_index": shift + end, "start_index": shift + start, "title": source.title, "url": source.url}
            annotation: dict[str, Any] = {"type": URL_CITATION, URL_CITATION: details}
            merge_extras(annotation, own, OPENAI)
            written.append(annotation)
    return written


def logprobs_of(entries: Any) -> list[TokenLogprob]:
    """`logprobs.content` or `logprobs.refusal`."""
    if not isinstance(entries, list):
        return []
    try:
        return [_logprob(each) for each in msgspec.convert(entries, list[_Logprob])]
    except (msgspec.ValidationError, ValueError, TypeError):
        return []


class _Logprob(msgspec.Struct):
    token: str
    logprob: float
    bytes: Any = None
    top_logprobs: list[_Logprob] | None = None


def _logprob(entry: _Logprob) -> TokenLogprob:
    found = TokenLogprob(token=entry.token, logprob=entry.logprob)
    if isinstance(entry.bytes, list):
        octets = bytes(entry.bytes)
        if octets != entry.token.encode():
            found.token_bytes = octets
    found.alternatives.extend(map(_logprob, entry.top_logprobs or ()))
    return found


def write_logprobs(logprobs: Iterable[TokenLogprob]) -> list[dict[str, Any]]:
    """The entries of `logprobs.content`."""
    return [{**_entry(each), "top_logprobs": [_entry(other) for other in each.alternatives]} for each in logprobs]


def _entry(logprob: TokenLogprob) -> dict[str, Any]:
    octets: Sequence[int] = logprob.token_bytes or logprob.token.encode()
    return {"token": logprob.token, "bytes": list(octets), "logprob": logprob.logprob}
