from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.protocols.concepts import CONCEPTS
from fluxrpc.protocols.node import spelling
from fluxrpc.protocols.notes import Notes, locator
from fluxrpc.v1.outcome_pb2 import (
    NOTE_ACTION_APPROXIMATED,
    NOTE_ACTION_CLAMPED,
    NOTE_ACTION_DROPPED,
    NOTE_ACTION_EMULATED,
    NOTE_ACTION_INJECTED,
    NOTE_ACTION_RENAMED,
    NOTE_ACTION_REORDERED,
)
from fluxrpc.v1.protocol_pb2 import (
    PROTOCOL_ANTHROPIC,
    PROTOCOL_COHERE,
    PROTOCOL_GEMINI,
    PROTOCOL_OPENAI,
    PROTOCOL_RESPONSES,
    PROTOCOL_UNSPECIFIED,
    Extra,
)

FATES = {"TOP_K": {NOTE_ACTION_DROPPED: "there is no top_k"}}


def test_every_action() -> None:
    notes = Notes({})
    made = [
        (notes.dropped, NOTE_ACTION_DROPPED),
        (notes.clamped, NOTE_ACTION_CLAMPED),
        (notes.approximated, NOTE_ACTION_APPROXIMATED),
        (notes.emulated, NOTE_ACTION_EMULATED),
        (notes.injected, NOTE_ACTION_INJECTED),
        (notes.renamed, NOTE_ACTION_RENAMED),
        (notes.reordered, NOTE_ACTION_REORDERED),
    ]
    for note, _ in made:
        note("SEED", "seed")
    assert [note.action for note in notes] == [action for _, action in made]


def test_reasons() -> None:
    notes = Notes(FATES)
    notes.dropped("TOP_K", "top_k")
    notes.clamped("TOP_K", "top_k")
    notes.dropped("SEED", "seed", "mine")
    assert [note.reason for note in notes] == ["there is no top_k", CONCEPTS["TOP_K"].title, "mine"]


def test_the_same_note_is_kept_once() -> None:
    notes = Notes(FATES)
    assert not notes
    notes.dropped("TOP_K", "top_k")
    notes.dropped("TOP_K", "top_k", "again")
    notes.dropped("TOP_K", "elsewhere")
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("code", "action", "is_loss"),
    [
        ("TOP_K", NOTE_ACTION_DROPPED, True),
        ("TOP_K", NOTE_ACTION_APPROXIMATED, True),
        ("TOP_K", NOTE_ACTION_CLAMPED, False),
        ("METADATA", NOTE_ACTION_DROPPED, False),
    ],
)
def test_what_strict_callers_do_not_accept(code: str, action: int, is_loss: bool) -> None:
    notes = Notes({})
    notes.add(code, action, "p")  # type: ignore[arg-type]  # parametrized: a plain number for the checker
    assert [note.is_loss for note in notes] == [is_loss]


def test_foreign_extras() -> None:
    notes = Notes({})
    extras = [
        Extra(protocol=PROTOCOL_OPENAI, key="own", value_json="1"),
        Extra(protocol=PROTOCOL_COHERE, key="foreign", value_json="1"),
        Extra(protocol=PROTOCOL_COHERE, key="nothing", value_json="null"),
        spelling(PROTOCOL_COHERE, "stop", '"a"'),
    ]
    notes.foreign_extras(extras, PROTOCOL_OPENAI, "messages[0]")
    notes.foreign_extras(extras[1:2], PROTOCOL_OPENAI, "", code="ANSWER_EXTRA")
    assert [(note.code, note.path) for note in notes] == [
        ("EXTRA_FIELD", "messages[0].foreign"),
        ("ANSWER_EXTRA", "foreign"),
    ]


@pytest.mark.parametrize(
    ("protocol", "key", "value", "is_loss"),
    [
        (PROTOCOL_OPENAI, "user", '"u"', False),
        (PROTOCOL_OPENAI, "logit_bias", '{"1":2}', True),
        (PROTOCOL_OPENAI, "logit_bias", "{ }", None),
        (PROTOCOL_RESPONSES, "background", "true", True),
        (PROTOCOL_RESPONSES, "background", "false", None),
        (PROTOCOL_RESPONSES, "stream_options", '{"include_obfuscation": false}', None),
        (PROTOCOL_ANTHROPIC, "caller", '{"type":"direct"}', False),
        (PROTOCOL_COHERE, "priority", "0", None),
        (PROTOCOL_GEMINI, "priority", "0", True),
    ],
)
def test_fields_that_nobody_misses(protocol: Any, key: str, value: str, is_loss: bool | None) -> None:
    notes = Notes({})
    notes.foreign_extras([Extra(protocol=protocol, key=key, value_json=value)], PROTOCOL_UNSPECIFIED, "")
    assert [note.is_loss for note in notes] == ([] if is_loss is None else [is_loss])


@pytest.mark.parametrize(
    ("node", "key", "place"),
    [
        ("", "reasoning.mode", "reasoning.mode"),
        ("tools[0]", "googleSearch.timeRangeFilter", "tools[1].googleSearch.timeRangeFilter"),
        ("tools[1]", "image", "tools[2].image"),
    ],
)
def test_keys_of_extras_are_those_of_the_body(node: str, key: str, place: str) -> None:
    notes = Notes({})
    notes.foreign_extras([Extra(protocol=PROTOCOL_GEMINI, key=key, value_json="1")], PROTOCOL_OPENAI, node)
    locate = locator(
        {"tools[0]": "tools[1].googleSearch", "tools[1]": "tools[2]"},
        {"reasoning.mode": "reasoning.effort", "image": "image_url"},
    )
    assert [note.path for note in notes.messages(locate)] == [place]


def test_messages_are_for_the_caller() -> None:
    notes = Notes(FATES)
    notes.dropped("TOP_K", "top_k")
    (message,) = notes.messages(lambda path: f"body.{path}")
    assert (message.path, message.action, message.code) == ("body.top_k", NOTE_ACTION_DROPPED, "TOP_K")
    assert message.reason == "there is no top_k"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("temperature", "temperature"),
        ("max_output_tokens", "max_tokens"),
        ("stop_sequences[4]", "stop[4]"),
        ("reasoning.effort", "output_config.effort"),
        ("reasoning.budget_tokens", "thinking.budget_tokens"),
        ("messages[1]", "messages[2]"),
        ("messages[1].parts[0]", "messages[2].content[1]"),
        ("messages[1].parts[0].image.detail", "messages[2].content[1].image_url.detail"),
        ("messages[1].parts[0].image.mime_type", "messages[2].content[1].image.mime_type"),
        ("messages[1].name", "messages[2].name"),
        ("messages[3].parts[0]", "messages[3].parts[0]"),
        ("documents[2].title", "documents[2].title"),
        ("", ""),
    ],
)
def test_places_in_the_callers_body(path: str, place: str) -> None:
    places = {"messages[1]": "messages[2]", "messages[1].parts[0]": "messages[2].content[1]", "documents": "documents"}
    fields = {
        "max_output_tokens": "max_tokens",
        "stop_sequences": "stop",
        "reasoning": "thinking",
        "reasoning.effort": "output_config.effort",
        "image.detail": "image_url.detail",
    }
    assert locator(places, fields)(path) == place
