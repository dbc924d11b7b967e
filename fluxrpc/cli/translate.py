"""`fluxrpc translate`: standard input in one protocol, standard output in another. No server and no provider."""

from __future__ import annotations

import sys
import time
from typing import BinaryIO

import click

_SIDES = ("openai", "anthropic", "gemini", "cohere", "responses", "typed")


@click.command(name="translate", short_help="Turn a body of one protocol into another.")
@click.option(
    "--from", "source", type=click.Choice(_SIDES), required=True, help="Protocol of what is read."
)  # fmt: skip
@click.option("--to", "goal", type=click.Choice(_SIDES), required=True, help="Protocol of what is written.")
@click.option(
    "--kind", type=click.Choice(("request", "response", "stream", "error")), default="request", show_default=True,
    help="What is read.",
)  # fmt: skip
@click.option(
    "--request", type=click.File("rb"), metavar="FILE",
    help="The caller's request, in the protocol of --to, that a response, stream or error answers: for names of tools,"
    " stop sequences and settings that the answer depends on.",
)  # fmt: skip
@click.option(
    "--model", default="", metavar="NAME",
    help="The provider's model, whose own limits are heeded. By default the one that the request names.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Fail where a request would lose something that matters.")
@click.option(
    "--status", type=click.IntRange(400, 599), default=400, show_default=True, help="HTTP status of an error."
)
def command(
    *, source: str, goal: str, kind: str, request: BinaryIO | None, model: str, strict: bool, status: int
) -> None:
    """Translate standard input to standard output, as the server would.

    Prints one JSON object, {"output": …, "notes": […]}: the body in the other protocol (for a stream the list of its
    frames as text), and one note with path, action, code and reason for each thing that the other protocol says
    differently or not at all. A request goes from the caller's protocol to the provider's; responses, streams and
    errors come back, so there --from is the provider's. `typed` is the JSON of fluxrpc's own messages (MessageRequest,
    MessageResponse, StreamEvent); it can be read for requests only. With the same protocol on both sides the body is
    brought into fluxrpc's own shape.

    \b
    Examples:
      fluxrpc translate --from openai --to anthropic < request.json
      fluxrpc translate --from openai --to gemini --model gemini-2.5-flash \\
        --strict < request.json | jq .notes
      fluxrpc translate --from gemini --to openai --kind stream \\
        --request request.json < stream.txt | jq -r '.output[]'
      fluxrpc translate --from anthropic --to openai --kind error \\
        --status 529 < error.json

    Exit status: 0 translated; 1 the input is not what --from and --kind say, something would be lost under --strict,
    or a stream is not complete (what came of it is printed); 2 wrong usage.
    """  # noqa: D301  # \b is click's mark for text that is not to be wrapped
    from fluxrpc.cli.translation import Kind, Task, Unusable, translate  # noqa: PLC0415  # help needs none of it
    from fluxrpc.errors import FluxError  # noqa: PLC0415  # likewise
    from fluxrpc.protocols.base import Protocol  # noqa: PLC0415  # likewise

    if kind == "request" and request is not None:
        raise click.UsageError("--request is for what answers a request")
    task = Task(
        kind=Kind(kind),
        source=None if source == "typed" else Protocol(source),
        goal=None if goal == "typed" else Protocol(goal),
        content=_standard_input(),
        request=None if request is None else request.read(),
        model=model,
        strict=strict,
        http_status=status,
        now=int(time.time()),
    )
    try:
        translated = translate(task)
    except Unusable as error:
        raise click.UsageError(str(error)) from None
    except FluxError as error:
        click.echo(f"{error.reason}: {error}", err=True)
        sys.exit(1)
    click.echo(translated.as_json())
    if translated.error is not None:
        click.echo(f"the stream is not complete: {translated.error}", err=True)
        sys.exit(1)


def _standard_input() -> bytes:
    source = sys.stdin.buffer
    if source.isatty():
        click.echo("The body, please; Ctrl-D ends it.", err=True)
    return source.read()
