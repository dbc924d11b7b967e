"""Where one message of an answer ends and the next begins, for protocols that have one text for all of them.

A provider may answer in several messages (OpenAI Responses), or with a plan before the answer (Cohere). Run together
they would be one garbled sentence.
"""

from __future__ import annotations

from typing import Final

from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, Part

__all__ = ["BETWEEN_ITEMS", "next_item"]

BETWEEN_ITEMS: Final = "\n\n"
"""Stands between texts that were messages of their own."""
_PLAN: Final = "plan"


def next_item(before: str, part: Part) -> tuple[bool, str]:
    """Whether a text begins a message of its own, and which one that is.

    A plan is one of its own; what names none belongs to the message `before`, "" for the first.
    """
    item = part.item_id or (_PLAN if part.phase == TEXT_PHASE_PLAN else "")
    if not item and before != _PLAN:
        return False, before
    return bool(before) and before != item, item
