"""What is said in a message, and whether a part is its kind alone."""

from __future__ import annotations

from fluxrpc.ir.presence import is_bare, present
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.part_pb2 import Part


def test_present_names_what_is_set() -> None:
    request = MessageRequest(temperature=0, stop_sequences=["x"], end_user_id="", verbosity_raw="")
    request.reasoning.SetInParent()

    assert present(request) == {"temperature", "stop_sequences", "reasoning"}
    assert present(MessageRequest()) == set()


def test_a_part_is_bare_when_nothing_stands_beside_its_kind() -> None:
    part = Part(text="")
    assert is_bare(part)

    part.extras.add(key="x", value_json="1")
    assert not is_bare(part)
