"""Token counts that come in pieces.

Providers report usage cumulatively and in part: Anthropic's `message_delta` overwrites those counters of
`message_start` that it holds, Gemini repeats all of them on each frame. One rule serves both: later counters win,
absent ones keep what was known. Nothing is ever summed here.
"""

from __future__ import annotations

from fluxrpc.v1.usage_pb2 import Usage


def merge_usage(known: Usage, later: Usage) -> None:
    """Write into `known` every counter that `later` holds; a breakdown replaces the one before as a whole.

    `estimated` becomes that of `later`, for it speaks of the counters that now stand.
    """
    extras = {(extra.protocol, extra.key): extra for extra in (*known.extras, *later.extras)}
    merged_extras = list(extras.values())
    if later.cache_writes:
        known.ClearField("cache_writes")
    if later.input_modalities:
        known.ClearField("input_modalities")
    if later.output_modalities:
        known.ClearField("output_modalities")
    known.ClearField("extras")
    known.MergeFrom(later)
    known.estimated = later.estimated
    known.ClearField("extras")
    known.extras.extend(merged_extras)
