"""`fluxrpc call`: what its options come to. The call itself is replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fluxrpc.cli import caller
from fluxrpc.cli.call import command, is_local
from fluxrpc.cli.caller import Where
from fluxrpc.cli.output import ForMachines, ForPeople
from fluxrpc.v1.message_pb2 import ROLE_USER
from fluxrpc.v1.protocol_pb2 import PROTOCOL_GEMINI
from fluxrpc.v1.router_pb2 import ExecuteRequest


class Sent:
    """Stands for the call, and keeps what it was given."""

    def __init__(self) -> None:
        self.where = Where(target="")
        self.request = ExecuteRequest()
        self.output: Any = None
        self.options: dict[str, Any] = {}
        self.ends: Callable[[], bool] = lambda: True

    async def __call__(self, where: Where, request: ExecuteRequest, output: Any, **options: Any) -> bool:
        self.where, self.request, self.output, self.options = where, request, output, options
        return self.ends()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    for name in ("FLUXRPC_TARGET", "FLUXRPC_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    stand_in = Sent()
    monkeypatch.setattr(caller, "send", stand_in)
    return stand_in


def call(*args: str, stdin: str | bytes = "", **env: str) -> Result:
    return CliRunner().invoke(command, args, input=stdin, env=env)


def test_a_prompt_becomes_a_typed_request(sent: Sent) -> None:
    assert call("fast", "Hello").exit_code == 0
    assert sent.request.model == "fast"
    [message] = sent.request.message.messages
    assert (message.role, message.text) == (ROLE_USER, "Hello")
    assert sent.where == Where(target="127.0.0.1:50051")
    assert sent.options == {"stream": False, "timeout_seconds": 600.0}
    assert isinstance(sent.output, ForPeople)


@pytest.mark.parametrize("args", [("fast",), ("fast", "-")])
def test_the_prompt_is_read_from_stdin(sent: Sent, args: tuple[str, ...]) -> None:
    assert call(*args, stdin="Grüße\n").exit_code == 0
    assert sent.request.message.messages[0].text == "Grüße\n"


def test_a_body_goes_as_it_is(sent: Sent, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_bytes(b'{"contents":  [] }')
    assert call("fast", "--protocol", "gemini", "--body", str(path), "--stream", "--timeout", "3").exit_code == 0
    assert sent.request.native.protocol == PROTOCOL_GEMINI
    assert sent.request.native.body == b'{"contents":  [] }'
    assert sent.options == {"stream": True, "timeout_seconds": 3.0}


def test_a_body_may_come_from_stdin(sent: Sent) -> None:
    assert call("fast", "--protocol", "openai", "--body", "-", stdin="{}").exit_code == 0
    assert sent.request.native.body == b"{}"


def test_options_come_from_the_environment_too(sent: Sent) -> None:
    assert call("fast", "Hello", "--json", FLUXRPC_TARGET="localhost:1", FLUXRPC_TOKEN="t").exit_code == 0
    assert sent.where == Where(target="localhost:1", token="t")
    assert "'t'" not in repr(sent.where)
    assert isinstance(sent.output, ForMachines)


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (("fast", ""), "", "the prompt is empty"),
        (("fast",), " \n", "the prompt is empty"),
        (("fast",), b"\xff", "no UTF-8"),
        (("fast", "--protocol", "openai"), "", "belong together"),
        (("fast", "--body", "-"), "{}", "belong together"),
        (("fast", "Hello", "--body", "-", "--protocol", "openai"), "{}", "exclude each other"),
        (("fast", "Hello", "--protocol", "telnet"), "", "Invalid value for '--protocol'"),
        (("fast", "Hello", "--timeout", "0"), "", "--timeout"),
        (("fast", "Hello", "--ca", "/no/such/file"), "", "--ca"),
        (("fast", "Hello", "--token", "t", "--target", "gateway:1"), "", "unencrypted"),
        ((), "", "Missing argument 'MODEL'"),
    ],
)
def test_wrong_usage_is_said_and_nothing_is_sent(
    sent: Sent, args: tuple[str, ...], stdin: str | bytes, message: str
) -> None:
    done = call(*args, stdin=stdin)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert sent.output is None


@pytest.mark.parametrize("option", ["--tls", "--plaintext"])
def test_a_token_travels_encrypted_or_by_order(sent: Sent, option: str) -> None:
    assert call("fast", "Hello", "--token", "t", "--target", "gateway:1", option).exit_code == 0
    assert sent.where == Where(target="gateway:1", token="t", tls=option == "--tls")


def test_a_file_of_authorities_means_tls(sent: Sent, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("x")
    assert call("fast", "Hello", "--ca", str(path)).exit_code == 0
    assert sent.where == Where(target="127.0.0.1:50051", tls=True, ca=path)


def test_no_whole_answer_is_exit_status_1(sent: Sent) -> None:
    sent.ends = lambda: False
    assert call("fast", "Hello").exit_code == 1


def test_an_interrupt_has_a_status_of_its_own(sent: Sent) -> None:
    def interrupt() -> bool:
        raise KeyboardInterrupt

    sent.ends = interrupt
    done = call("fast", "Hello")
    assert done.exit_code == 130
    assert done.stderr == "interrupted; the call is cancelled\n"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("localhost:1", True),
        ("127.0.0.1:1", True),
        ("[::1]:1", True),
        ("ipv4:127.0.0.1:1", True),
        ("unix:/run/x", True),
        ("dns:///localhost:1", True),
        ("ipv4:127.0.0.1:1,10.0.0.1:1", False),
        ("gateway:1", False),
        ("10.0.0.1:1", False),
        ("127.0.0.1.evil.example:1", False),
    ],
)
def test_what_stays_on_this_machine(target: str, expected: bool) -> None:
    assert is_local(target) is expected
