"""Pieces of content of OpenAI Responses to parts: what users send, what models said, and what hangs on it.

Used for requests and answers alike. `exact` readers also keep how things were spelt, which only those need who write
the same protocol again.
"""

from __future__ import annotations

import msgspec
from google.protobuf.duration_pb2 import Duration
from msgspec import Struct

from fluxrpc.protocols.envelope import unseal
from fluxrpc.protocols.media import bytes_of, read_url
from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.responses.words import DETAILS, TTLS, extra
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES, Extra, OpaqueKind, OpaqueState

__all__ = ["CONTENT", "ContentReader", "filled", "read_breakpoint", "read_logprobs", "whole_raw"]

CONTENT = "content"
"""Key of the spelling that tells a raw piece of content from a raw item."""


class ContentReader(Struct, frozen=True, kw_only=True):
    """Reads pieces of content."""

    exact: bool = True
    service: str = ""
    model: str = ""

    def extras(self, node: Node, prefix: str = "") -> list[Extra]:
        """What is left of a node."""
        return node.extras(PROTOCOL_RESPONSES, prefix, nulls=self.exact)

    def carry(self, node: Node, part: pb.Part, prefix: str = "") -> None:
        """What is left of a node, into a part."""
        node.carry(part, PROTOCOL_RESPONSES, prefix, nulls=self.exact)

    def spelt(self, key: str, value_json: str) -> list[Extra]:
        """How something was spelt, if anyone wants to know."""
        return [spelling(PROTOCOL_RESPONSES, key, value_json)] if self.exact else []

    def state(self, kind: OpaqueKind.ValueType, text: str) -> OpaqueState:
        """State in `encrypted_content`: another provider's in an envelope, or this one's own."""
        return unseal(text) or OpaqueState(
            kind=kind, origin=PROTOCOL_RESPONSES, service=self.service, model=self.model, value=text.encode()
        )

    # --- what users and tools send ---

    def given(self, node: Node) -> pb.Part:
        """A piece of content of a user, of instructions or of a tool's result."""
        kind = node.text("type")
        if kind == "input_text" and node.is_text("text"):
            part = pb.Part(text=node.text("text") or "")
        elif kind == "input_image" and ("image_url" in node or "file_id" in node):
            part = pb.Part(image=self._image(node))
        elif kind == "input_file" and ("file_data" in node or "file_url" in node or "file_id" in node):
            part = self._file(node)
        else:
            return whole_raw(node, kind)
        read_breakpoint(node, part)
        self.carry(node, part)
        return part

    def _image(self, node: Node) -> pb.Media:
        if "image_url" in node:
            media = read_url(node.text("image_url") or "", path=node.at("image_url"))
        else:
            media = pb.Media(file_id=node.text("file_id") or "")
        _read_detail(node, media)
        return media

    def _file(self, node: Node) -> pb.Part:
        part = pb.Part()
        media = part.document.media
        if "file_data" in node:
            data = node.text("file_data") or ""
            if data.startswith("data:"):
                media.CopyFrom(read_url(data, path=node.at("file_data")))
            else:
                media.data = bytes_of(data, path=node.at("file_data"))
                media.mime_type = "application/pdf"
                part.extras.extend(self.spelt("file_data", msgspec.json.encode(data).decode()))
        elif "file_url" in node:
            media.url = node.text("file_url") or ""
        else:
            media.file_id = node.text("file_id") or ""
        media.filename = filled(node, "filename")
        _read_detail(node, media)
        return part

    # --- what models said ---

    def said(self, node: Node) -> pb.Part:
        """A piece of content of a message of the model."""
        kind = node.text("type")
        if kind in {"output_text", "input_text", "text"} and node.is_text("text"):
            part = pb.Part(text=node.text("text") or "")
            if kind != "output_text":
                part.extras.extend(self.spelt("type", f'"{kind}"'))
            self._read_sides(node, part)
        elif kind == "refusal" and node.is_text("refusal"):
            part = pb.Part(refusal=node.text("refusal") or "")
        else:
            part = whole_raw(node, kind)
            part.extras.append(spelling(PROTOCOL_RESPONSES, CONTENT, "true"))
            return part
        self.carry(node, part)
        return part

    def _read_sides(self, node: Node, part: pb.Part) -> None:
        if node.is_list("annotations"):
            found = node.nodes("annotations")
            if found:
                part.citations.extend(self.citation(each) for each in found)
            elif self.exact:
                part.extras.append(spelling(PROTOCOL_RESPONSES, "annotations", "[]"))
        if node.is_list("logprobs"):
            text = node.json("logprobs")
            part.logprobs.extend(read_logprobs(text))
            if not part.logprobs:
                part.extras.extend(self.spelt("logprobs", text))

    def citation(self, node: Node) -> pb.Citation:
        """An annotation."""
        kind = node.text("type") or ""
        citation = pb.Citation(kind_raw=kind)
        if "start_index" in node and "end_index" in node:
            start, end = node.integer("start_index") or 0, node.integer("end_index") or 0
            if 0 <= start <= end < 2**32:
                citation.start, citation.end = start, end
        is_url = kind == "url_citation"
        citation.sources.add(
            kind=pb.CITATION_SOURCE_KIND_URL if is_url else pb.CITATION_SOURCE_KIND_FILE,
            title=node.text("title" if is_url else "filename") or "",
            url=node.text("url") or "",
            file_id=node.text("file_id") or "",
        )
        citation.extras.extend(self.extras(node))
        return citation


def filled(node: Node, key: str) -> str:
    """A string of a field that the IR has no presence for; "" stays with the extras."""
    return "" if bytes(node.peek(key)) == b'""' else node.text(key) or ""


def whole_raw(node: Node, kind: str | None) -> pb.Part:
    """A part or item that nobody reads further, with all it holds. Of `node` only the type was asked for."""
    rest = node.rest()
    if kind is not None:
        rest = f'{{"type":{msgspec.json.encode(kind).decode()}' + ("}" if rest == "{}" else f",{rest[1:]}")
    return pb.Part(raw=pb.RawPart(protocol=PROTOCOL_RESPONSES, type=kind or "", body_json=rest))


def read_breakpoint(node: Node, part: pb.Part) -> None:
    """`prompt_cache_breakpoint`, whose mode is always `explicit`."""
    found = node.node("prompt_cache_breakpoint")
    if found is None:
        return
    part.cache_breakpoint.SetInParent()
    found.text("mode")
    word = found.text("ttl")
    if word in TTLS:
        part.cache_breakpoint.ttl.CopyFrom(Duration(seconds=TTLS[word]))
    elif word is not None:
        part.extras.append(extra("prompt_cache_breakpoint.ttl", msgspec.json.encode(word).decode()))
    part.extras.extend(found.extras(PROTOCOL_RESPONSES, "prompt_cache_breakpoint."))


class _Token(Struct):
    token: str = ""
    logprob: float = 0.0
    bytes: list[int] | None = None
    top_logprobs: list[_Token] | None = None


_TOKENS = msgspec.json.Decoder(list[_Token])


def read_logprobs(text: str) -> list[pb.TokenLogprob]:
    """Probabilities of tokens; none where they are no such list."""
    try:
        tokens = _TOKENS.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return []
    return [_token(token) for token in tokens]


def _token(token: _Token) -> pb.TokenLogprob:
    read = pb.TokenLogprob(token=token.token, logprob=token.logprob)
    octets = token.bytes or []
    if all(0 <= octet <= 255 for octet in octets) and bytes(octets) != token.token.encode():
        read.token_bytes = bytes(octets)
    read.alternatives.extend(_token(each) for each in token.top_logprobs or ())
    return read


def _read_detail(node: Node, media: pb.Media) -> None:
    value, media.detail_raw = DETAILS.read(node.text("detail"))
    media.detail = pb.MediaDetail.ValueType(value)
