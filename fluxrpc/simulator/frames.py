"""Server-sent events as the simulator writes them: the values, and their bytes in every legal shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from fluxrpc.simulator.script import Shape

FrameRole = Literal["opening", "content", "finish", "usage", "terminator", "comment", "bare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event. `data` is a JSON value, or text that is written as it is; `role` says what faults may do with it."""

    data: Any
    event: str | None = None
    role: FrameRole = "opening"


def dump(value: Any) -> str:
    """JSON without blanks, characters beyond ASCII as they are; with half a surrogate pair in it, all escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if _is_unicode(text) else json.dumps(value, separators=(",", ":"))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_bytes(text: str) -> bytes:
    """UTF-8; U+DC80 to U+DCFF stand for single bytes that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def frame_bytes(frame: Frame, shape: Shape) -> bytes:
    """The frame with its closing blank line."""
    if frame.role == "comment":
        lines = [f": {frame.data}"]
    elif frame.role == "bare":
        lines = [dump(frame.data)]
    else:
        text = frame.data if isinstance(frame.data, str) else dump(frame.data)
        if shape.multiline and not isinstance(frame.data, str):
            text = json.dumps(frame.data, indent=1)
        lines = [f"event: {frame.event}"] if frame.event else []
        lines += [f"data: {line}" for line in text.split("\n")]
    return to_bytes("".join(line + shape.newline for line in [*lines, ""]))
