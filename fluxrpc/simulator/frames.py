"""Server-sent events as the simulator writes them: the values, and their bytes in every legal shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from fluxrpc.simulator.script import Shape

FrameRole = Literal["opening", "content", "finish", "usage", "terminator", "comment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event. `data` is a JSON value, or text that is written as it is; `role` says what faults may do with it."""

    data: Any
    event: str | None = None
    role: FrameRole = "opening"


def dump(value: Any) -> str:
    """JSON without blanks, characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def frame_bytes(frame: Frame, shape: Shape) -> bytes:
    """The frame with its closing blank line."""
    if frame.role == "comment":
        lines = [f": {frame.data}"]
    else:
        text = frame.data if isinstance(frame.data, str) else dump(frame.data)
        if shape.multiline and not isinstance(frame.data, str):
            text = json.dumps(frame.data, ensure_ascii=False, indent=1)
        lines = [f"event: {frame.event}"] if frame.event else []
        lines += [f"data: {line}" for line in text.split("\n")]
    return "".join(line + shape.newline for line in [*lines, ""]).encode("utf-8", "surrogatepass")
