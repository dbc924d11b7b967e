"""Request bodies that name their model: read what routing needs, then replace `model` and the stream switch in place.

Shared by the protocols whose body holds `model` and `stream`. Invariant: a body that already says the right thing is
passed on as the same object, and nothing but the named fields ever changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.base import RequestHead
from fluxrpc.protocols.json_scan import Edit, Span, apply, find_spans, insert_first, remove_field
from fluxrpc.protocols.json_text import MAX_FIELDS, decode_request, has_many_fields

Change = Edit | bytes
"""An edit, or the text of a field to insert at the start."""


Fields = dict[str, msgspec.Raw]
"""The top-level fields of a body. Values stay text: the caller may have written them as he likes."""

_FIELDS = msgspec.json.Decoder(Fields)
_REPLACED = frozenset({"model", "stream"})


def read_fields(body: bytes) -> Fields:
    """The fields of a caller's body, all of it checked.

    Raises:
        InvalidRequest: not JSON, not an object, nested too deep, too many fields, not UTF-8, half of a surrogate pair.
    """
    if has_many_fields(body):
        raise InvalidRequest.at("", f"the body has more than {MAX_FIELDS} fields")
    return decode_request(_FIELDS, body)


class BodySplices(NamedTuple):
    """The places of the fields that we replace."""

    body: bytes
    spans: dict[str, Span]

    def text(self, name: str) -> bytes:
        """The present value of a field; b"" where it is absent."""
        span = self.spans.get(name)
        return self.body[span.start : span.end] if span else b""


def read_model_head(
    fields: Fields,
    body: bytes,
    *,
    replaced: Collection[str] = _REPLACED,
    includes_usage: bool = False,
    holds_state: bool = False,
) -> RequestHead:
    """The head of a body; `replaced` names the fields that may have to be changed.

    Raises:
        InvalidRequest: `model` is not a string, or a field that we replace is there twice.
    """
    spans = find_spans(body, fields, replaced)
    span = spans.get("model")
    model = None
    if span is not None:
        text = body[span.start : span.end]
        if text[:1] != b'"':
            raise InvalidRequest.at("model", "a string is expected")
        model = _decode_name(text)
    return RequestHead(
        model=model, includes_usage=includes_usage, holds_state=holds_state, splices=BodySplices(body, spans)
    )


def splices_of(head: RequestHead) -> BodySplices:
    """The splices that this module put into the head."""
    if not isinstance(head.splices, BodySplices):
        raise TypeError("the head was not read by this codec")
    return head.splices


def write_body(head: RequestHead, body: bytes, *, model: str, stream: bool, more: Sequence[Change] = ()) -> bytes:
    """The body with model and stream switch as given, and `more` changes of the protocol's own."""
    splices = splices_of(head)
    changes = [*more]
    if head.model != model:
        changes.append(_set_field(splices, "model", _encode_name(model)))
    # An absent or null switch already means `false`.
    switch = splices.text("stream")
    if switch != b"true" if stream else switch not in (b"", b"null", b"false"):
        changes.append(_set_field(splices, "stream", b"true" if stream else b"false"))
    if not changes:
        return body
    edits = [change for change in changes if isinstance(change, Edit)]
    fields = [change for change in changes if isinstance(change, bytes)]
    if fields:
        edits.append(insert_first(body, b",".join(fields)))
    return apply(body, edits)


def without_stream_options(head: RequestHead, body: bytes) -> bytes | None:
    """The body without `stream_options`, which OpenAI refuses where nothing is streamed; None if it has none."""
    splices = splices_of(head)
    span = splices.spans.get("stream_options")
    return apply(body, [remove_field(body, span)]) if span else None


def _set_field(splices: BodySplices, name: str, value: bytes) -> Change:
    span = splices.spans.get(name)
    return Edit(span.start, span.end, value) if span else b'"%s":%s' % (name.encode(), value)


@lru_cache(maxsize=1024)
def _decode_name(text: bytes) -> str:
    return msgspec.json.decode(text, type=str)


@lru_cache(maxsize=1024)
def _encode_name(model: str) -> bytes:
    return msgspec.json.encode(model)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMarks:
    """Keys and words in a body that refer to state of one provider account.

    `keys` count wherever they stand with a value, `types` as values of `type`; both only below the fields of the
    conversation, so that a tool with a parameter of the same name binds nothing.
    """

    keys: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def found_in(self, body: bytes, conversation: msgspec.Raw | None) -> bool:
        """Whether the conversation, a part of the body, refers to state."""
        if conversation is None:
            return False
        for needle in _needles(self):
            if needle in body:
                break
        else:
            return False
        if body.count(b"{") > _MAX_OBJECTS:
            return True
        try:
            root = msgspec.json.decode(conversation)
        except msgspec.DecodeError:  # a number beyond a double: legal, but we cannot look closer
            return True
        return self._is_below(root)

    def _is_below(self, root: Any) -> bool:
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, dict):
                if node.get("type") in self.types or any(node.get(key) for key in self.keys):
                    return True
                stack.extend(value for key, value in node.items() if key not in _FREE_FORM)
            elif isinstance(node, list):
                stack.extend(node)
        return False


_MAX_OBJECTS = 200_000
"""In a body of more objects nobody looks for state: that takes seconds, and to stay where it is harms no request."""


@lru_cache
def _needles(marks: StateMarks) -> tuple[bytes, ...]:
    return tuple(b'"%s"' % word.encode() for word in marks.keys + marks.types)


# Below these keys stands what a tool was given or gave: its fields mean nothing to a provider.
_FREE_FORM = frozenset({"input_schema", "parameters", "input", "arguments", "args", "response"})


def is_present(fields: Fields, *names: str) -> bool:
    """Whether one of the fields is there with a value other than null or an empty string."""
    return any(bytes(fields[name]) not in (b"null", b'""') for name in names if name in fields)
