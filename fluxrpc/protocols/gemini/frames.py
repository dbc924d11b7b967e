"""What we read of a `GenerateContentResponse`, which is both the whole answer and each frame of a stream."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.json_text import Index

_ABSENT = msgspec.Raw(b"")
_NOTHING = (b"", b"null", b'""')


class Part(msgspec.Struct, rename="camel"):
    """One part: text, or anything else that is an answer. A signature alone is none."""

    text: str | None = None
    function_call: msgspec.Raw = _ABSENT
    inline_data: msgspec.Raw = _ABSENT
    file_data: msgspec.Raw = _ABSENT
    executable_code: msgspec.Raw = _ABSENT
    code_execution_result: msgspec.Raw = _ABSENT
    tool_call: msgspec.Raw = _ABSENT
    tool_response: msgspec.Raw = _ABSENT

    @property
    def is_call(self) -> bool:
        """Whether the part calls one of the caller's functions."""
        return bytes(self.function_call) not in _NOTHING

    @property
    def is_real(self) -> bool:
        """Whether an answer begins with this part."""
        if self.text:
            return True
        others = (
            self.function_call, self.inline_data, self.file_data, self.executable_code, self.code_execution_result,
            self.tool_call, self.tool_response,
        )  # fmt: skip
        return any(bytes(other) not in _NOTHING for other in others)


class Content(msgspec.Struct):
    """The parts of a candidate; there may be none."""

    parts: list[Part] | None = None


class Candidate(msgspec.Struct, rename="camel"):
    """One candidate, or its increment."""

    index: Index = 0
    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class PromptFeedback(msgspec.Struct, rename="camel"):
    """Says why a prompt got no candidates."""

    block_reason: str | None = None


class Response(msgspec.Struct, rename="camel"):
    """A whole answer or one frame of a stream."""

    candidates: list[Candidate] | None = None
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: msgspec.Raw = _ABSENT
    model_version: str | None = None
    error: msgspec.Raw = _ABSENT

    @property
    def block_reason(self) -> str:
        """Why the prompt was refused; "" if it was not."""
        return (self.prompt_feedback.block_reason if self.prompt_feedback else None) or ""


RESPONSE = msgspec.json.Decoder(Response)
