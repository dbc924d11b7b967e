"""What people and machines see of messages that the server of today seldom sends, or sends only in trouble."""

from __future__ import annotations

import io
import json

import pytest
from google.protobuf.duration_pb2 import Duration
from rich.console import Console

from fluxrpc.cli.failure import Failure
from fluxrpc.cli.output import ForMachines, ForPeople
from fluxrpc.cli.report import attempts_table, failure_lines, harmless, note_lines, usage_line
from fluxrpc.v1.outcome_pb2 import (
    BLAME_NOBODY,
    BLAME_ROUTE,
    NOTE_ACTION_CLAMPED,
    OUTCOME_MODEL,
    OUTCOME_PASSED_OVER,
    Attempt,
    NativeError,
    RouteInfo,
    TranslationNote,
)
from fluxrpc.v1.router_pb2 import ExecuteStreamResponse
from fluxrpc.v1.usage_pb2 import Usage


def text_of(*lines: object) -> str:
    console = Console(file=io.StringIO(), width=80)
    for line in lines:
        console.print(line)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def message(**fields: object) -> ExecuteStreamResponse:
    return ExecuteStreamResponse(**fields)  # type: ignore[arg-type]  # one field of the oneof, as the test names it


def said(text: str) -> ExecuteStreamResponse:
    response = ExecuteStreamResponse()
    response.events.events.add().part_delta.text = text
    return response


def test_a_route_that_was_passed_over_is_told_as_such() -> None:
    passed = Attempt(route="a", outcome=OUTCOME_PASSED_OVER, blame=BLAME_NOBODY, reason="LACKS_VISION")
    shown = text_of(attempts_table([passed]))
    assert shown.splitlines()[-1].split() == ["a", "passed", "over", "nobody", "-", "0.0", "LACKS_VISION"]


def test_attempts_are_one_row_each_within_80_columns() -> None:
    attempt = Attempt(
        route="a/[red]b[/]/" + "x" * 90,
        outcome=OUTCOME_MODEL,
        blame=BLAME_ROUTE,
        http_status=503,
        duration=Duration(seconds=1, nanos=500_000_000),
        reason="SERVER_ERROR",
    )
    shown = text_of(attempts_table([attempt, Attempt(route="next", outcome=99, blame=99)]))  # type: ignore[arg-type]
    assert max(map(len, shown.splitlines())) <= 80
    assert "[red]b[/]" in shown
    assert shown.splitlines()[1].split()[1:] == ["model", "route", "503", "1500.0", "SERVER_ERROR"]
    assert shown.splitlines()[-1].split() == ["next", "99", "99", "-", "0.0"]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage(), "not counted by the provider"),
        (Usage(input_tokens=0, output_tokens=5, reasoning_tokens=0), "input 0, output 5 tokens"),
        (Usage(input_tokens=9, cache_read_tokens=3), "input 9, from cache 3 tokens"),
        (Usage(output_tokens=5, estimated=True), "output 5 tokens (estimated)"),
    ],
)
def test_tokens_are_shown_as_far_as_counted(usage: Usage, expected: str) -> None:
    assert text_of(usage_line(usage)).rstrip() == f"usage     {expected}"


def test_notes_say_what_and_why() -> None:
    note = TranslationNote(path="top_k", action=NOTE_ACTION_CLAMPED, code="X", reason="at most 40")
    newer = TranslationNote(path="a", action=99, reason="b")  # type: ignore[arg-type]  # a value of later versions
    assert text_of(*note_lines([note, newer])) == "note      top_k: clamped: at most 40\nnote      a: 99: b\n"


def test_nothing_from_outside_steers_the_terminal() -> None:
    assert harmless("a\x1b[2Jb\x9bc\rd\n\te").replace("\N{REPLACEMENT CHARACTER}", "?") == "a?[2Jb?c?d\n\te"
    native = NativeError(http_status=500, body=b"\x1b]0;title\x07" + b"x" * 1000)
    failure = Failure(code="UNAVAILABLE", message="\x1b[31mred", native=native, violations=(("", "odd \x1b"),))
    shown = text_of(*failure_lines(failure, "host:1"))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert shown.count("x") < 500
    assert "field" in shown
    assert "…" in shown


def test_a_restarted_answer_says_that_the_first_is_void(capsys: pytest.CaptureFixture[str]) -> None:
    output = ForPeople("host:1")
    old = TranslationNote(path="old", reason="gone")
    for piece in (
        message(started={"route": RouteInfo(route="one"), "notes": [old]}),
        said("Hel"),
        message(restarted={"route": RouteInfo(route="two")}),
        said("Hello "),
        message(continued={"route": RouteInfo(route="three"), "notes": [TranslationNote(path="new")]}),
        said("there\n"),
        message(completed={"usage": Usage(output_tokens=2)}),
        ExecuteStreamResponse(),
    ):
        output.piece(piece)
    out, err = capsys.readouterr()
    assert out == "Hel\nHello \nthere\n"
    assert "void, the answer begins again, on two" in err
    assert "another route goes on, on three" in err
    assert "route     three " in err
    assert "note      new" in err
    assert "old" not in err


def test_machines_see_each_message_as_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    output = ForMachines()
    output.piece(said("Grüße"))
    output.failed(Failure(code="UNAVAILABLE", message="down"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        {"events": {"events": [{"partDelta": {"text": "Grüße"}}]}},
        {"error": {"code": "UNAVAILABLE", "message": "down"}},
    ]


def test_a_terminal_gets_no_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    output = ForPeople("host:1")
    output.piece(said("a\x1b[2J"))
    output.piece(message(native=b"data: \x1b\n\n"))
    assert "\x1b" not in capsys.readouterr().out
