"""`fluxrpc call`: one request to a running server. Not a client library, and no chat: each call stands alone."""

from __future__ import annotations

import asyncio
import re
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO

import click

from fluxrpc.cli.environment import prepare_grpc

_PROTOCOLS = ("openai", "anthropic", "gemini", "cohere", "responses")
_INTERRUPTED = 130  # what shells report of a program that Ctrl-C ended: 128 + SIGINT
_SCHEME = re.compile(r"^(?:dns:(?://[^/]*/)?|ipv[46]:|passthrough:///)")


@click.command(name="call", short_help="Send one request to a running server.")
@click.argument("model")
@click.argument("prompt", required=False)
@click.option("--stream", is_flag=True, help="Print the answer as it comes.")
@click.option(
    "--protocol",
    type=click.Choice(_PROTOCOLS),
    help="Send --body in this protocol instead of a prompt; the answer is printed in it too.",
)
@click.option(
    "--body", type=click.File("rb"), metavar="FILE", help="JSON of the request, with --protocol; `-` reads it."
)
@click.option(
    "--target", default="127.0.0.1:50051", show_default=True, envvar="FLUXRPC_TARGET", show_envvar=True,
    metavar="HOST:PORT", help="Where the server listens.",
)  # fmt: skip
@click.option(
    "--token", envvar="FLUXRPC_TOKEN", show_envvar=True, metavar="TOKEN",
    help="Who calls. Better given in the environment, where others do not see it.",
)  # fmt: skip
@click.option("--tls", is_flag=True, help="Use TLS, and trust the system's authorities.")
@click.option(
    "--ca", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Use TLS, and trust the certificates in this PEM file.",
)  # fmt: skip
@click.option("--plaintext", is_flag=True, help="Send the token unencrypted to another host.")
@click.option(
    "--timeout", "timeout_seconds", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True,
    metavar="SECONDS", help="Deadline of the call; the provider is stopped then.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print protobuf's JSON, one object a line, and nothing else.")
def command(
    *,
    model: str,
    prompt: str | None,
    stream: bool,
    protocol: str | None,
    body: BinaryIO | None,
    target: str,
    token: str | None,
    tls: bool,
    ca: Path | None,
    plaintext: bool,
    timeout_seconds: float,
    as_json: bool,
) -> None:
    """Ask MODEL, by its name in the server's configuration, and print the answer.

    PROMPT is what the user says; without it, or as `-`, it is read from standard input. Which route answered, every
    attempt, the tokens used and what a translation changed go to standard error.

    \b
    Examples:
      fluxrpc call fast "Why is the sky blue?" --stream
      git diff | fluxrpc call fast --target gateway:50051 --tls
      fluxrpc call fast --protocol anthropic --body request.json
      fluxrpc call fast "Hello" --json | jq .usage

    Exit status: 0 a complete answer; 1 no answer, or not a complete one; 2 wrong usage; 130 interrupted, in which case
    the provider is stopped too.
    """  # noqa: D301  # \b is click's mark for text that is not to be wrapped
    encrypted = tls or ca is not None
    if token and not encrypted and not plaintext and not is_local(target):
        raise click.UsageError(
            f"the token would go to {target} unencrypted: give --tls or --ca, or --plaintext where the network encrypts"
        )
    if (protocol is None) != (body is None):
        raise click.UsageError("--protocol and --body belong together")
    prepare_grpc()
    from fluxrpc.cli.caller import Where, native_request, send, typed_request  # noqa: PLC0415  # after the environment
    from fluxrpc.cli.output import ForMachines, ForPeople, Output  # noqa: PLC0415  # likewise

    if protocol is not None and body is not None:
        if prompt is not None:
            raise click.UsageError("PROMPT and --body exclude each other")
        request = native_request(model, protocol, body.read())
    else:
        request = typed_request(model, read_prompt(prompt))
    where = Where(target=target, token=token or None, tls=encrypted, ca=ca)
    output: Output = ForMachines() if as_json else ForPeople(target)
    try:
        complete = asyncio.run(send(where, request, output, stream=stream, timeout_seconds=timeout_seconds))
    except KeyboardInterrupt:
        click.echo("interrupted; the call is cancelled", err=True)
        sys.exit(_INTERRUPTED)
    sys.exit(0 if complete else 1)


def read_prompt(prompt: str | None) -> str:
    """The prompt, from standard input where none was given.

    Raises:
        click.UsageError: it is empty, or no UTF-8.
    """
    if prompt is not None and prompt != "-":
        text = prompt
    else:
        source = sys.stdin.buffer
        if source.isatty():
            click.echo("The prompt, please; Ctrl-D ends it.", err=True)
        try:
            text = source.read().decode()
        except UnicodeDecodeError as error:
            raise click.UsageError("the prompt is no UTF-8 text") from error
    if not text.strip():
        raise click.UsageError("the prompt is empty")
    return text


def is_local(target: str) -> bool:
    """Whether a gRPC target stays on this machine; where that cannot be told it does not."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    return all(_is_loopback(address) for address in _SCHEME.sub("", target).split(","))


def _is_loopback(address: str) -> bool:
    host = address[1:].partition("]")[0] if address.startswith("[") else address.partition(":")[0]
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
