"""Request bodies that name their model: read what routing needs, then replace `model` and the stream switch in place.

Shared by the protocols whose body holds `model` and `stream`. Invariant: a body that already says the right thing is
passed on as the same object, and nothing but the named fields ever changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.base import RequestHead
from fluxrpc.protocols.json_scan import Edit, Span, apply, find_spans, insert_first, remove_field

Change = Edit | bytes
"""An edit, or the text of a field to insert at the start."""

NO_RAW = msgspec.Raw(b"")
"""Stands for a field that is absent."""


class ModelFields(msgspec.Struct):
    """What every such body may hold. Values stay text: the caller may have written them as he likes."""

    model: msgspec.Raw = NO_RAW
    stream: msgspec.Raw = NO_RAW


@dataclass(frozen=True, slots=True, kw_only=True)
class BodySplices:
    """The places of the fields that we replace, with their present values (b"" where absent)."""

    spans: dict[str, Span]
    stream: bytes
    stream_options: bytes


def read_model_head(
    fields: ModelFields,
    body: bytes,
    *,
    stream_options: bytes = b"",
    includes_usage: bool = False,
    holds_state: bool = False,
) -> RequestHead:
    """The head of a body that has been decoded into `fields`.

    Raises:
        InvalidRequest: `model` is not a string, or a field that we replace is there twice.
    """
    model, stream = bytes(fields.model), bytes(fields.stream)
    if model and model[:1] != b'"':
        raise InvalidRequest.at("model", "a string is expected")
    values = {}
    if model:
        values["model"] = model
    if stream:
        values["stream"] = stream
    if stream_options:
        values["stream_options"] = stream_options
    return RequestHead(
        model=msgspec.json.decode(model, type=str) if model else None,
        includes_usage=includes_usage,
        holds_state=holds_state,
        splices=BodySplices(spans=find_spans(body, values), stream=stream, stream_options=stream_options),
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
    if splices.stream != b"true" if stream else splices.stream not in (b"", b"null", b"false"):
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

    def found_in(self, body: bytes, conversation: Callable[[], bytes]) -> bool:
        """Whether the conversation refers to state. `conversation` gives its JSON text, asked for only on suspicion."""
        for word in self.keys:
            if b'"%s"' % word.encode() in body:
                break
        else:
            for word in self.types:
                if b'"%s"' % word.encode() in body:
                    break
            else:
                return False
        text = conversation()
        if not text:
            return False
        try:
            root = msgspec.json.decode(text)
        except msgspec.DecodeError:  # a number beyond a double: legal, and we cannot look closer
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


# Below these keys stands what a tool was given or gave: its fields mean nothing to a provider.
_FREE_FORM = frozenset({"input_schema", "parameters", "arguments", "args"})


def is_present(value: msgspec.Raw) -> bool:
    """Whether a field is there with a value other than null or an empty string."""
    return bytes(value) not in (b"", b"null", b'""')
