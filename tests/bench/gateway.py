"""Everything of the benchmark that knows fluxrpc: its configuration, its command, its requests.

The gateway runs as a caller would run it: bearer tokens, metrics, breakers and notes on, one worker, one core.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fluxrpc.v1.message_pb2 import ROLE_SYSTEM, ROLE_USER, MessageRequest
from fluxrpc.v1.protocol_pb2 import PROTOCOL_OPENAI
from fluxrpc.v1.router_pb2 import ExecuteRequest, NativeRequest
from tests.bench.load import Call, Upstream
from tests.bench.measure import Subject
from tests.bench.processes import BUILD, BenchError, Cores, running

EXECUTE = "/fluxrpc.v1.RouterService/Execute"
EXECUTE_STREAM = "/fluxrpc.v1.RouterService/ExecuteStream"
READY_SECONDS = 20
PROMPT_CHARACTERS = 1850
KEY_FILE = "upstream.key"

UNARY = "unary"
HELD = "paced-1000-10"
HELD_SLOWLY = "paced-100-100"
FIRST = "paced-10-5"
FLOOD_SINGLE = "paced-2000-2"
FLOOD_BATCHED = "flood-40000-16"
MODELS = (UNARY, HELD, HELD_SLOWLY, FIRST, FLOOD_SINGLE, FLOOD_BATCHED)


def native_body(model: str, *, stream: bool) -> bytes:
    """An OpenAI chat request of 2 KB, for the upstream's `model`."""
    body = {
        "model": model,
        "messages": [
            {"role": "system", "content": "You are the benchmark."},
            {"role": "user", "content": "x" * PROMPT_CHARACTERS},
        ],
        "temperature": 0.5,
        "max_tokens": 300,
    }
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return msgspec.json.encode(body)


def native_request(model: str, *, stream: bool = False) -> bytes:
    """The same as an ExecuteRequest on the wire."""
    native = NativeRequest(protocol=PROTOCOL_OPENAI, body=native_body(model, stream=stream))
    return ExecuteRequest(model=model, native=native).SerializeToString()


def typed_request(model: str) -> bytes:
    """The same conversation as a typed message."""
    message = MessageRequest()
    message.messages.add(role=ROLE_SYSTEM, text="You are the benchmark.")
    message.messages.add(role=ROLE_USER, text="x" * PROMPT_CHARACTERS)
    return ExecuteRequest(model=model, message=message).SerializeToString()


def direct_call(upstream: Upstream, model: str, *, stream: bool = False) -> Call:
    """Straight to the upstream, without anything between."""
    return Call(kind="http", target=f"{upstream.base_url}/chat/completions", body=native_body(model, stream=stream))


class Server:
    """One running gRPC server, fluxrpc or the forwarder, and the calls that it can be sent."""

    def __init__(self, *, name: str, pid: int, port: int, token: str = "") -> None:
        self.name = name
        self.pid = pid
        self.port = port
        self.token = token

    def unary(self, body: bytes, *, name: str = "") -> Subject:
        return self._subject(name or self.name, "unary", EXECUTE, body)

    def stream(self, model: str) -> Subject:
        return self._subject(self.name, "stream", EXECUTE_STREAM, native_request(model, stream=True))

    def _subject(self, name: str, kind: str, method: str, body: bytes) -> Subject:
        target = f"127.0.0.1:{self.port}"
        call = Call(kind=kind, target=target, method=method, body=body, token=self.token)
        return Subject(name=name, pid=self.pid, call=call)


def configuration(upstream: Upstream, *, port: int, metrics_port: int, token: str) -> dict[str, object]:
    """The configuration file as a value."""
    return {
        "server": {"listen": f"127.0.0.1:{port}", "workers": 1, "drain_delay": "0s"},
        "metrics": {"listen": f"127.0.0.1:{metrics_port}"},
        "callers": {"bench": {"token_sha256": hashlib.sha256(token.encode()).hexdigest()}},
        "services": {"upstream": {"protocols": {"openai": upstream.base_url}}},
        "models": {
            model: {"routes": [{"service": "upstream", "model": model, "credential": {"file": KEY_FILE}}]}
            for model in MODELS
        },
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_gateway(upstream: Upstream, *, cores: Cores) -> Iterator[Server]:
    """`fluxrpc serve` with one worker, ready to serve."""
    token = secrets.token_urlsafe(24)
    port = free_port()
    file = BUILD / "fluxrpc.yaml"
    (BUILD / KEY_FILE).write_text("sk-bench")
    value = configuration(upstream, port=port, metrics_port=free_port(), token=token)
    file.write_bytes(msgspec.json.encode(value))  # JSON is YAML
    log = BUILD / "fluxrpc.log"
    command = [sys.executable, "-m", "fluxrpc", "serve", "--config", str(file)]
    with running(command, cores=cores.server, log=log) as child:
        _await_port(port, log)
        yield Server(name="fluxrpc", pid=child.pid, port=port, token=token)


@contextmanager
def running_forwarder(upstream: Upstream, *, cores: Cores) -> Iterator[Server]:
    """The bare forwarder, ready to serve."""
    command = [sys.executable, "-m", "tests.bench.forwarder", upstream.base_url]
    log = BUILD / "forwarder.log"
    with running(command, cores=cores.server, log=log, piped=True) as child:
        line = child.stdout.readline() if child.stdout else ""
        if not line.strip().isdigit():
            raise BenchError(f"the forwarder did not start:\n{log.read_text()}")
        yield Server(name="forwarder", pid=child.pid, port=int(line))


def _await_port(port: int, log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise BenchError(f"fluxrpc did not start:\n{log.read_text()}")
