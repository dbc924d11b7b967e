"""What happened on the way to an answer, as people read it: attempts, tokens, notes, failures. Writes nothing itself.

What comes from outside (answers, messages, names) is text, never markup, and cannot steer the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from google.protobuf.duration_pb2 import Duration
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fluxrpc.cli.failure import Failure
from fluxrpc.v1.outcome_pb2 import Attempt, Blame, NoteAction, Outcome, RouteInfo, TranslationNote
from fluxrpc.v1.protocol_pb2 import Protocol
from fluxrpc.v1.usage_pb2 import Usage

Lines = Iterator[Text | Table | Padding]

# All control characters but tab and line feed.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Of a route that cannot say the request: nothing was sent to it.
_NOT_ASKED = "OUTCOME_PASSED_OVER"
_STYLES = {"OUTCOME_OK": "green", "OUTCOME_REFUSED": "green", "OUTCOME_ABANDONED": "yellow", _NOT_ASKED: "yellow"}
_NATIVE_CHARACTERS = 400
_LABEL_WIDTH = 10
# What every answer counts, and what is worth saying only where there is some.
_COUNTS = (("input", "input_tokens"), ("output", "output_tokens"), ("total", "total_tokens"))
_FURTHER_COUNTS = (("from cache", "cache_read_tokens"), ("reasoning", "reasoning_tokens"))


def harmless(text: str) -> str:
    """The text without the characters that terminals obey."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def labelled(label: str, text: str, style: str = "") -> Table:
    """One entry of a report: a word in a column of its own, then the text, in as many lines as it needs."""
    line = Table.grid()
    line.add_column(min_width=_LABEL_WIDTH, no_wrap=True)
    line.add_column(overflow="fold")
    line.add_row(Text(label, style="bold"), Text(harmless(text), style=style))
    return line


def route_line(route: RouteInfo) -> Table:
    """Which route answers."""
    what = route.served_model or route.upstream_model
    protocol = Protocol.Name(route.protocol).removeprefix("PROTOCOL_").lower()
    return labelled("route", f"{route.route} ({route.service}, {protocol}, model {what})")


def attempts_table(attempts: Iterable[Attempt], *, reasons: bool = True) -> Padding:
    """One row for each attempt, oldest first."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("attempt", overflow="fold")
    for name in ("outcome", "blame"):
        table.add_column(name, no_wrap=True)
    for name in ("http", "ms"):
        table.add_column(name, justify="right", no_wrap=True)
    if reasons:
        table.add_column("reason", overflow="fold")
    for attempt in attempts:
        outcome = Outcome.Name(attempt.outcome) if attempt.outcome in Outcome.values() else str(attempt.outcome)
        blame = Blame.Name(attempt.blame) if attempt.blame in Blame.values() else str(attempt.blame)
        cells = [
            Text(harmless(attempt.route)),
            Text(outcome.removeprefix("OUTCOME_").replace("_", " ").lower(), style=_STYLES.get(outcome, "red")),
            Text(blame.removeprefix("BLAME_").lower()),
            Text(str(attempt.http_status or "-")),
            Text(f"{_seconds(attempt.duration) * 1000:.1f}"),
        ]
        table.add_row(*cells, *([Text(harmless(attempt.reason))] if reasons else []))
    return Padding(table, (0, 0, 0, 2), expand=False)


def usage_line(usage: Usage) -> Table:
    """The tokens of an answer, as far as the provider counted them."""
    known = {descriptor.name: value for descriptor, value in usage.ListFields()}
    counted = [f"{name} {known[field]}" for name, field in _COUNTS if field in known]
    counted += [f"{name} {known[field]}" for name, field in _FURTHER_COUNTS if known.get(field)]
    what = ", ".join(counted) + " tokens" if counted else "not counted by the provider"
    return labelled("usage", what + (" (estimated)" if usage.estimated else ""))


def note_lines(notes: Iterable[TranslationNote]) -> Iterator[Table]:
    """What the translation changed."""
    for note in notes:
        action = NoteAction.Name(note.action) if note.action in NoteAction.values() else str(note.action)
        yield labelled("note", f"{note.path}: {action.removeprefix('NOTE_ACTION_').lower()}: {note.reason}")


def failure_lines(failure: Failure, target: str) -> Lines:
    """All that a failed call says, and what to do."""
    yield Text.assemble(
        (" ".join(filter(None, (failure.code, failure.reason))), "bold red"), f": {harmless(failure.message)}"
    )
    for path, fault in failure.violations:
        place = f"{path}: {fault}" if path else fault
        if place not in failure.message:  # which holds them all, as long as they are few
            yield labelled("field", place)
    if failure.attempts:
        yield attempts_table(failure.attempts)
    if failure.native is not None:
        body = failure.native.body.decode("utf-8", "replace")
        cut = body[:_NATIVE_CHARACTERS] + ("…" if len(body) > _NATIVE_CHARACTERS else "")
        yield labelled("provider", f"{failure.native.http_status or ''} {cut}".strip())
    if failure.request_id:
        yield labelled("request", failure.request_id)
    if failure.retry_after_seconds is not None:
        yield labelled("retry", f"in {failure.retry_after_seconds:.1f} s")
    yield labelled("what now", failure.advice(target))


def answer_lines(
    route: RouteInfo, attempts: Sequence[Attempt], usage: Usage, notes: Iterable[TranslationNote]
) -> Lines:
    """How an answer came about."""
    yield route_line(route)
    yield attempts_table(attempts)
    yield usage_line(usage)
    yield from note_lines(notes)


def _seconds(duration: Duration) -> float:
    return duration.seconds + duration.nanos / 1e9
