"""Watching a stream of Gemini: partial responses, no event names, no terminator; the end of the body ends it."""

from __future__ import annotations

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.gemini.errors import error_of
from fluxrpc.protocols.gemini.finish import blocked, finish_reason
from fluxrpc.protocols.gemini.frames import RESPONSE, Candidate
from fluxrpc.protocols.gemini.usage import USAGE, to_usage
from fluxrpc.protocols.json_text import decode_answer
from fluxrpc.protocols.stream_watch import DROP, PASS, REAL, Watch
from fluxrpc.protocols.whole_answer import read_loosely, says_something
from fluxrpc.sse import Frame
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.usage_pb2 import Usage


class GeminiWatch(Watch):
    """A stream is complete when its body ends and every candidate has its finish reason, or the prompt was refused."""

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self._raw_usage = msgspec.Raw(b"")
        self._calls: set[int] = set()

    @property
    def usage(self) -> Usage | None:
        """Any frame may hold the counters so far; the last one wins."""
        usage = read_loosely(USAGE, self._raw_usage)
        return to_usage(usage) if usage else None

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one frame."""
        if frame.data == b"[DONE]":  # some gateways end every stream the OpenAI way
            return DROP
        response = decode_answer(RESPONSE, frame.data)
        if says_something(response.error):
            raise error_of(frame.data)
        if response.model_version:
            self.served_model = response.model_version
        if says_something(response.usage_metadata):
            self._raw_usage = response.usage_metadata
        step = PASS
        if response.block_reason:
            self.finish(blocked(response.block_reason))
            step = REAL
        for candidate in response.candidates or ():
            step |= self._take_candidate(candidate)
        return step

    def _take_candidate(self, candidate: Candidate) -> int:
        index = candidate.index
        self.open_choice(index)
        step = PASS
        for part in (candidate.content.parts if candidate.content else None) or ():
            if part.is_call:
                self._calls.add(index)
            if part.is_real:
                step = REAL
        word = candidate.finish_reason
        if word and word != "FINISH_REASON_UNSPECIFIED":
            reason = finish_reason(word, has_calls=index in self._calls)
            message = candidate.finish_message or ""
            self.finish(Finish(choice_index=index, reason=reason, raw=word, message=message))
            step = REAL
        return step
