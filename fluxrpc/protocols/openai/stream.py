"""Watching a stream of OpenAI Chat Completions: chunks without event names, ended by `[DONE]`."""

from __future__ import annotations

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.json_text import Index, decode_answer
from fluxrpc.protocols.openai.errors import error_of
from fluxrpc.protocols.openai.finish import finish_reason
from fluxrpc.protocols.openai.usage import USAGE, to_usage
from fluxrpc.protocols.stream_watch import DROP, LAST, PASS, REAL, Watch
from fluxrpc.protocols.whole_answer import read_loosely, says_something
from fluxrpc.sse import Frame
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.usage_pb2 import Usage

_ABSENT = msgspec.Raw(b"")
_NOTHING = (b"", b"null", b'""', b"[]", b"{}")


class _Delta(msgspec.Struct):
    content: msgspec.Raw = _ABSENT
    refusal: msgspec.Raw = _ABSENT
    tool_calls: msgspec.Raw = _ABSENT
    function_call: msgspec.Raw = _ABSENT
    audio: msgspec.Raw = _ABSENT
    # Reasoning, in the words of DeepSeek, vLLM and OpenRouter.
    reasoning_content: msgspec.Raw = _ABSENT
    reasoning: msgspec.Raw = _ABSENT
    reasoning_details: msgspec.Raw = _ABSENT


class _Choice(msgspec.Struct):
    index: Index = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    usage: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT


_CHUNK = msgspec.json.Decoder(_Chunk)
_NO_CHOICES: frozenset[int] = frozenset()


class OpenAIWatch(Watch):
    """Hides the usage frame from callers who did not ask for it, and knows the marks of a begun answer."""

    terminator = b"data: [DONE]\n\n"

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self._show_usage = options.show_usage
        self._raw_usage = _ABSENT
        # Few streams need these, so they share an empty one.
        self._refusals = _NO_CHOICES
        self._calls = _NO_CHOICES

    @property
    def usage(self) -> Usage | None:
        """The latest usage: the last chunk has it, some servers count up in every chunk."""
        usage = read_loosely(USAGE, self._raw_usage)
        return to_usage(usage) if usage else None

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one chunk."""
        data = frame.data
        if data == b"[DONE]":
            return LAST
        chunk = decode_answer(_CHUNK, data)
        if chunk.error is not _ABSENT and says_something(chunk.error):
            raise error_of(data)
        if chunk.model and not self.served_model:
            self.served_model = chunk.model
        has_usage = says_something(chunk.usage)
        if has_usage:
            self._raw_usage = chunk.usage
        if not chunk.choices:
            return DROP if has_usage and not self._show_usage else PASS
        step = PASS
        for choice in chunk.choices:
            step |= self._take_choice(choice)
        return step

    def _take_choice(self, choice: _Choice) -> int:
        index = choice.index
        self.open_choice(index)
        delta = choice.delta
        step = PASS
        if delta is not None and (bytes(delta.content) not in _NOTHING or self._has_more(delta, index)):
            step = REAL
        if choice.finish_reason:
            reason = finish_reason(
                choice.finish_reason, has_calls=index in self._calls, has_refusal=index in self._refusals
            )
            self.finish(Finish(choice_index=index, reason=reason, raw=choice.finish_reason))
            step = REAL
        return step

    def _has_more(self, delta: _Delta, index: int) -> bool:
        """Whether a delta without content holds anything else that an answer is made of."""
        if bytes(delta.refusal) not in _NOTHING:
            self._refusals |= {index}
            return True
        if bytes(delta.tool_calls) not in _NOTHING:
            self._calls |= {index}
            return True
        others = (delta.reasoning_content, delta.reasoning, delta.reasoning_details, delta.function_call, delta.audio)
        return any(bytes(other) not in _NOTHING for other in others)
