"""What is said in a message of the contract, asked once instead of field by field.

Most fields are unset in most messages, and looking at a field costs as much when it is. So who reads a message that may
say thirty things asks here first, and then looks only at what is there.
"""

from __future__ import annotations

from google.protobuf.message import Message

__all__ = ["is_bare", "present"]


def present(message: Message) -> set[str]:
    """Names of the fields that are set; of lists, maps and fields without presence, those that are not empty."""
    return {field.name for field, _ in message.ListFields()}


def is_bare(part: Message) -> bool:
    """Whether a part, which is of some kind, is that and nothing else: no state, no citations, no extras."""
    return len(part.ListFields()) == 1
