"""Requests and answers with one odd value in each place: read, refused as such, never broken by; then written on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from fluxrpc.errors import AttemptError, InvalidRequest
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.notes import Notes
from tests.unit.protocols.openai.chat_ways import HI, OPENAI, context_of
from tests.unit.protocols.openai.test_openai_answers import NORMALISED, OWN, answer
from tests.unit.protocols.openai.test_openai_own_requests import FIELDS, MESSAGES, SLOPPY

ODD: tuple[Any, ...] = (None, -1, 2**64, 1.5, 1e308, "", "\U0001f600", [], {}, [None], {"a.b": 1, "type": "x"}, True)


def places(value: Any, parent: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*parent, key)
        yield from places(inner, (*parent, key))


def with_odd_values(body: dict[str, Any]) -> Iterator[bytes]:
    """The body with one value replaced, or one strange key beside it."""
    copy = json.loads(json.dumps(body))
    for place in list(places(copy)):
        *way, last = place
        holder: Any = copy
        for key in way:
            holder = holder[key]
        usual = holder[last]
        for odd in ODD:
            holder[last] = odd
            yield json.dumps(copy).encode()
        holder[last] = usual
        if isinstance(holder, dict):
            holder[f"{last}.x"] = 1
            yield json.dumps(copy).encode()
            del holder[f"{last}.x"]


REQUESTS = [
    *({"model": "m", "messages": messages} for messages in MESSAGES.values()),
    *({"model": "m", "messages": [HI], **fields} for fields in (*FIELDS.values(), *SLOPPY.values())),
]
ANSWERS = [*OWN.values(), *(answer(choice) for choice, _ in NORMALISED.values())]


@pytest.mark.parametrize("body", REQUESTS)
def test_no_odd_value_breaks_a_request(body: dict[str, Any]) -> None:
    for text in with_odd_values(body):
        with suppress(JsonFault, InvalidRequest):
            message = OPENAI.read_request(text).message
            for caller in (Protocol.OPENAI, Protocol.COHERE):
                context = context_of(message, caller=caller)
                assert json.loads(OPENAI.write_request(message, context, Notes(OPENAI.fates)).body)


@pytest.mark.parametrize("body", ANSWERS)
def test_no_odd_value_breaks_an_answer(body: dict[str, Any]) -> None:
    notes = Notes(OPENAI.fates)
    for text in with_odd_values(body):
        with suppress(AttemptError):
            response = OPENAI.read_response(text, context_of(), notes)
            assert json.loads(OPENAI.write_response(response, context_of(), notes))
            writer = OPENAI.write_stream(context_of(stream=True), notes)
            assert writer.write(events_of(response)) + writer.close()


@pytest.mark.parametrize("body", [b'{"messages":[],"x":"\xff"}', b"[" * 3000, b"5", b""])
def test_what_is_no_json_object(body: bytes) -> None:
    with pytest.raises(JsonFault):
        OPENAI.read_request(body)
