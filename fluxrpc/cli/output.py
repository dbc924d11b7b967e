"""Where an answer goes. For people: the answer to standard output, how it came about to standard error. For machines:
protobuf's JSON to standard output, one object a line, and nothing else.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Protocol

import click
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.console import Console

from fluxrpc.cli.failure import Failure
from fluxrpc.cli.report import answer_lines, failure_lines, harmless, labelled, note_lines
from fluxrpc.v1.outcome_pb2 import RouteInfo, TranslationNote
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.router_pb2 import ExecuteResponse, ExecuteStreamResponse


class Output(Protocol):
    """Takes what a call brings, as it comes."""

    def answer(self, response: ExecuteResponse) -> None:
        """The whole answer of a unary call."""

    def piece(self, message: ExecuteStreamResponse) -> None:
        """One message of a stream."""

    def failed(self, failure: Failure) -> None:
        """The call ended with a status other than OK, or as good as."""


class ForPeople:
    """See the module."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._console = Console(stderr=True, highlight=False)
        self._for_terminal = sys.stdout.isatty()
        self._route = RouteInfo()
        self._notes: list[TranslationNote] = []
        self._line_open = False

    def answer(self, response: ExecuteResponse) -> None:
        """The answer, then its history."""
        if response.HasField("native"):
            self._write_bytes(response.native.body)
        else:
            for choice in response.message.choices:
                self._write("".join(map(_said, choice.parts)))
                self._end_line()
        self._end_line()
        self._report(*answer_lines(response.route, response.attempts, response.usage, response.notes))

    def piece(self, message: ExecuteStreamResponse) -> None:
        """Text and frames at once; the history at the end."""
        match message.WhichOneof("message"):
            case "events":
                for event in message.events.events:
                    self._write(event.part_delta.text or event.part_delta.refusal)
            case "native":
                self._write_bytes(message.native)
            case "started":
                self._route = message.started.route
                self._notes.extend(message.started.notes)
            case "restarted":
                self._turn(message.restarted.route, "what came before is void, the answer begins again")
                self._notes = list(message.restarted.notes)
            case "continued":
                self._turn(message.continued.route, "another route goes on")
                self._notes.extend(message.continued.notes)
            case "completed":
                end = message.completed
                self._end_line()
                self._report(*answer_lines(self._route, end.attempts, end.usage, [*self._notes, *end.notes]))

    def failed(self, failure: Failure) -> None:
        """The failure, and what to do."""
        self._end_line()
        self._report(*note_lines(self._notes), *failure_lines(failure, self._target))

    def _turn(self, route: RouteInfo, what: str) -> None:
        self._end_line()
        self._route = route
        self._report(labelled("turn", f"{what}, on {route.route}", "yellow"))

    def _report(self, *lines: Any) -> None:
        for line in lines:
            self._console.print(line, soft_wrap=False)

    def _write(self, text: str) -> None:
        if text:
            click.echo(harmless(text) if self._for_terminal else text, nl=False)
            sys.stdout.flush()
            self._line_open = not text.endswith("\n")

    def _write_bytes(self, content: bytes) -> None:
        if self._for_terminal:
            self._write(content.decode("utf-8", "replace"))
        elif content:
            click.echo(content, nl=False)
            self._line_open = not content.endswith(b"\n")

    def _end_line(self) -> None:
        if self._line_open:
            click.echo()
            self._line_open = False


class ForMachines:
    """See the module. Names are those of protobuf's JSON; bytes are base64."""

    def answer(self, response: ExecuteResponse) -> None:
        """One `ExecuteResponse`."""
        self._write(_as_json(response))

    def piece(self, message: ExecuteStreamResponse) -> None:
        """One `ExecuteStreamResponse`."""
        self._write(_as_json(message))

    def failed(self, failure: Failure) -> None:
        """`{"error": …}`: a `google.rpc.Status` whose code is a name."""
        self._write({"error": failure.as_json()})

    def _write(self, content: dict[str, Any]) -> None:
        click.echo(json.dumps(content, ensure_ascii=False))
        sys.stdout.flush()


def _as_json(message: Message) -> dict[str, Any]:
    return MessageToDict(message)


def _said(part: Part) -> str:
    """What a reader of the answer sees of a part."""
    return part.text or part.refusal
