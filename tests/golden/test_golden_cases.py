"""Sixty pieces of translation with their right outcome, each for a rule of its own: what is written, and what is noted.

`expected` is the whole outcome, or with `subset` a pattern (`tests.support.json_match`). `notes` must be there, and no
other note may speak of a loss, unless `any_losses` says that they are not the point.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.protocols import schema
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import Bridge
from fluxrpc.protocols.concepts import CONCEPTS
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_APPROXIMATED, NOTE_ACTION_DROPPED, NoteAction
from fluxrpc.v1.tool_pb2 import SCHEMA_DIALECT_JSON_SCHEMA
from tests.support.assembled import events_in
from tests.support.json_match import mismatches
from tests.support.translating import HELLO, bridge_for, sse, streamed, target_for

ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "translation_golden.jsonl").read_text().split("\n") if line
]
NAMED_EVENTS = frozenset({"anthropic", "cohere", "responses"})
LOSSES = frozenset({NOTE_ACTION_DROPPED, NOTE_ACTION_APPROXIMATED})
END_OF_CHAT = "[DONE]"


def _rows(direction: str) -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in ROWS if row["direction"] == direction]


def _compact(value: Any) -> str:
    """Without blanks: what is JSON within a body keeps its spelling, and the outcomes have none."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _way(row: dict[str, Any], body: dict[str, Any] | None = None) -> Bridge:
    caller = Protocol(row["caller"])
    target = target_for(Protocol(row["upstream"]), row.get("model", ""), version=row.get("version", ""))
    return bridge_for(caller, _compact(body or row.get("request") or HELLO[caller]).encode(), target)


def _assert_outcome(row: dict[str, Any], got: Any) -> None:
    if row.get("subset"):
        assert mismatches(row["expected"], got) == [], got
    else:
        assert got == row["expected"]


def _assert_noted(row: dict[str, Any], found: Iterable[Any]) -> None:
    expected = set(row["notes"])
    words = {
        f"{NoteAction.Name(note.action).removeprefix('NOTE_ACTION_')} {note.code}": note.action in LOSSES
        and CONCEPTS[note.code].semantic
        for note in found
    }
    assert expected - words.keys() == set(), words
    if not row.get("any_losses"):
        assert {word for word, is_loss in words.items() if is_loss} - expected == set()


@pytest.mark.parametrize("row", _rows("request"))
def test_request(row: dict[str, Any]) -> None:
    way = _way(row, row["input"])
    got = json.loads(way.wire(stream=False).body)
    _assert_outcome(row, got)
    _assert_noted(row, way.notes)


@pytest.mark.parametrize("row", _rows("response"))
def test_response(row: dict[str, Any]) -> None:
    way = _way(row)
    way.wire(stream=False)
    answer = way.read_answer(_compact(row["input"]).encode())
    _assert_outcome(row, json.loads(answer.body))
    assert (
        set(row["notes"])
        - {f"{NoteAction.Name(note.action).removeprefix('NOTE_ACTION_')} {note.code}" for note in answer.notes}
        == set()
    )


def _chunks(row: dict[str, Any]) -> list[bytes]:
    given = row["input"]
    if isinstance(given, dict):
        text = given["raw"].encode()
        return [text[at : at + row["pieces"]] for at in range(0, len(text), row["pieces"])]
    named = row["upstream"] in NAMED_EVENTS
    return [
        sse({"raw": "data: [DONE]\n\n"})
        if event == END_OF_CHAT
        else sse(({"event": event["type"]} if named else {}) | {"data": f"$RAWJSON:{_compact(event)}"})
        for event in given
    ]


@pytest.mark.parametrize("row", _rows("stream"))
def test_stream(row: dict[str, Any]) -> None:
    frames, error = streamed(_way(row), _chunks(row))
    got = [data for _, data in events_in(frames)]
    if "error" in row:
        assert isinstance(error, ProviderError)
        assert error.native is not None
        assert mismatches(row["error"], json.loads(error.native.body)) == []
        assert END_OF_CHAT not in got
        return
    if row.get("cut"):
        assert isinstance(error, AnswerFault)
        assert error.detail == "STREAM_CUT"
        return
    assert error is None
    for pattern in row.get("contains", []):
        assert any(not mismatches(pattern, event) for event in got), got
    ignored = row.get("ignored", [])
    got = [event for event in got if all(mismatches(pattern, event) for pattern in ignored)]
    if "expected" in row:
        _assert_outcome(row, got)


@pytest.mark.parametrize("row", _rows("error"))
def test_error(row: dict[str, Any]) -> None:
    given = row["input"]
    body = given.encode() if isinstance(given, str) else json.dumps(given).encode()
    error = _way(row).read_error(row["status"], row.get("headers", {}), body, now=0.0)
    assert isinstance(error, ProviderError)
    native = error.native
    assert native is not None
    assert mismatches(row["expected"], json.loads(native.body)) == []
    assert row.get("expected_headers", {}).items() <= dict(native.headers).items()
    if row["expected_status"] == "5xx":
        assert native.http_status >= 500
    else:
        assert native.http_status == row["expected_status"]


@pytest.mark.parametrize("row", _rows("schema"))
def test_schema(row: dict[str, Any]) -> None:
    notes = Notes({})
    text = json.dumps(row["input"])
    profile = getattr(schema, row["profile"])
    got = schema.convert(text, SCHEMA_DIALECT_JSON_SCHEMA, profile, notes, code="TOOL_SCHEMA", path="")
    _assert_outcome(row, json.loads(got))
    _assert_noted(row, notes)


def test_no_case_is_missing() -> None:
    assert {int(row["id"].lstrip("G").rstrip("abcdefghijklmnopqrstuvwxyz")) for row in ROWS} == set(range(1, 61))
