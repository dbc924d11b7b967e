"""The typed request and answer at work: build them, gather streams, merge counts, check what callers send.

Pure functions over the messages of `fluxrpc.v1`; nothing here knows a wire protocol or does input or output.
"""

from __future__ import annotations

from fluxrpc.ir.accumulate import Accumulator, EventOrderError, accumulate
from fluxrpc.ir.build import assistant, parts_of, result_parts, system, text_of, tool_result, user
from fluxrpc.ir.usage import merge_usage
from fluxrpc.ir.validate import validate_request

__all__ = [
    "Accumulator",
    "EventOrderError",
    "accumulate",
    "assistant",
    "merge_usage",
    "parts_of",
    "result_parts",
    "system",
    "text_of",
    "tool_result",
    "user",
    "validate_request",
]
