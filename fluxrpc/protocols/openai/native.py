"""OpenAI Chat Completions, native: the caller's bytes with model and stream switch replaced, the answer watched.

For streams `stream_options.include_usage` is forced on, because usage is otherwise never told; the watcher hides the
extra frame from callers who did not ask. https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

import msgspec

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.base import Answer, Protocol, RequestHead, WireOptions, WireRequest
from fluxrpc.protocols.json_scan import Edit, find_spans, insert_first
from fluxrpc.protocols.json_text import MAX_FIELDS, JsonFault, decode_answer, has_many_fields
from fluxrpc.protocols.native_codec import NativeParts
from fluxrpc.protocols.native_request import (
    BodySplices,
    Change,
    Fields,
    StateMarks,
    read_fields,
    read_model_head,
    splices_of,
    without_stream_options,
    write_body,
)
from fluxrpc.protocols.openai import errors
from fluxrpc.protocols.openai.stream import OpenAIWatch
from fluxrpc.protocols.openai.usage import USAGE, WireUsage, to_usage
from fluxrpc.protocols.whole_answer import explain_answer, read_loosely, read_whole

PATH = "/v1/chat/completions"


class _Message(msgspec.Struct):
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: WireUsage | None = None


class _OddCompletion(msgspec.Struct):
    """An answer whose usage may be anything: good to know, and no reason to refuse the rest."""

    choices: list[_Choice]
    model: str | None = None
    usage: msgspec.Raw = msgspec.Raw(b"")


_OPTIONS = msgspec.json.Decoder(Fields)
_REPLACED = frozenset({"model", "stream", "stream_options"})
_COMPLETION = msgspec.json.Decoder(_Completion)
_ODD_COMPLETION = msgspec.json.Decoder(_OddCompletion)
# `file: {"file_id": …}` and `image_file` of copies. An audio answer's id lives an hour and has no key of its own.
_STATE = StateMarks(keys=("file_id",))


class OpenAINative(NativeParts):
    """The native codec of OpenAI Chat Completions."""

    protocol = Protocol.OPENAI
    error_rows = errors.ROWS
    watcher = OpenAIWatch
    write_error = staticmethod(errors.write_error)

    def read_head(self, body: bytes) -> RequestHead:
        """See `NativeCodec.read_head`."""
        fields = read_fields(body)
        return read_model_head(
            fields,
            body,
            replaced=_REPLACED,
            includes_usage=_asks_usage(fields.get("stream_options")),
            holds_state=_STATE.found_in(body, fields.get("messages")),
        )

    def write_wire(
        self, head: RequestHead, body: bytes, *, model: str, stream: bool, options: WireOptions
    ) -> WireRequest:
        """See `NativeCodec.write_wire`."""
        if not stream and (rest := without_stream_options(head, body)) is not None:
            # Rare enough to take the field out and look again.
            return self.write_wire(self.read_head(rest), rest, model=model, stream=stream, options=options)
        ask_usage = stream and options.force_usage and not head.includes_usage
        more = [_usage_change(splices_of(head))] if ask_usage else []
        return WireRequest(path=PATH, body=write_body(head, body, model=model, stream=stream, more=more))

    def read_answer(self, body: bytes) -> Answer:
        """See `NativeCodec.read_answer`."""
        try:
            usual = decode_answer(_COMPLETION, body)
        except JsonFault:
            odd = read_whole(_ODD_COMPLETION, body, errors.error_of)
            usual = _Completion(odd.choices, odd.model, read_loosely(USAGE, odd.usage))
        if not usual.choices:
            raise explain_answer(body, errors.error_of)
        return Answer(
            body=body,
            usage=to_usage(usual.usage) if usual.usage else None,
            served_model=usual.model or "",
            refused=any(map(_is_refused, usual.choices)),
        )


def _asks_usage(options: msgspec.Raw | None) -> bool:
    if options is None or bytes(options) == b"null":
        return False
    if has_many_fields(bytes(options)):
        raise InvalidRequest.at("stream_options", f"more than {MAX_FIELDS} fields")
    try:
        switch = _OPTIONS.decode(options).get("include_usage")
    except msgspec.ValidationError:
        raise InvalidRequest.at("stream_options", "an object is expected") from None
    return switch is not None and bytes(switch) == b"true"


def _usage_change(splices: BodySplices) -> Change:
    """Make the options ask for usage, and say nothing else than before."""
    span = splices.spans.get("stream_options")
    if span is None:
        return b'"stream_options":{"include_usage":true}'
    text = splices.text("stream_options")
    if text == b"null":
        return Edit(span.start, span.end, b'{"include_usage":true}')
    fields = _OPTIONS.decode(text)
    try:
        switch = find_spans(text, fields, ("include_usage",)).get("include_usage")
    except InvalidRequest:
        raise InvalidRequest.at("stream_options.include_usage", "the field is there twice") from None
    inner = Edit(switch.start, switch.end, b"true") if switch else insert_first(text, b'"include_usage":true')
    return Edit(span.start + inner.start, span.start + inner.end, inner.text)


def _is_refused(choice: _Choice) -> bool:
    return choice.finish_reason == "content_filter" or bool(choice.message and choice.message.refusal)
