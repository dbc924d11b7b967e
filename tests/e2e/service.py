"""fluxrpc as a process in front of the LLM: its configuration, its start, its end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.llm import MODEL, ROOT, Llm, free_port

READY_SECONDS = 20
STOP_SECONDS = 15
RECOVERY_SECONDS = 2
ALIAS = "local"
SERVICE = "llm"
CROSSED = "crossed"
"""The same LLM behind a service that speaks OpenAI Chat only."""


class ServiceError(Exception):
    """fluxrpc cannot be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The running gateway."""

    port: int
    metrics_port: int
    token: str

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"


def configuration(llm: Llm, service: Service) -> dict[str, object]:
    """Two models with a route each; breakers that recover while a person watches."""
    recovery = {"recovery": f"{RECOVERY_SECONDS}s"}
    base_url = f"{llm.address}/v1"
    return {
        "server": {"listen": service.target, "drain_delay": "0s", "grace": "5s"},
        "metrics": {"listen": f"127.0.0.1:{service.metrics_port}"},
        "callers": {"e2e": {"token_sha256": hashlib.sha256(service.token.encode()).hexdigest()}},
        "policy": {"endpoint_breaker": recovery, "route_breaker": recovery},
        "services": {
            SERVICE: {"protocols": {"openai": base_url, "responses": base_url, "anthropic": llm.address}},
            f"{SERVICE}-openai": {"protocols": {"openai": base_url}},
        },
        "models": {
            ALIAS: {"routes": [{"service": SERVICE, "model": MODEL}]},
            CROSSED: {"routes": [{"service": f"{SERVICE}-openai", "model": MODEL}]},
        },
    }


@contextmanager
def running_service(llm: Llm, folder: Path) -> Iterator[Service]:
    """`fluxrpc serve`, ready; ended with SIGTERM at the end of the block."""
    service = Service(port=free_port(), metrics_port=free_port(), token=secrets.token_urlsafe(24))
    file, log = folder / "fluxrpc.yaml", folder / "fluxrpc.log"
    file.write_text(json.dumps(configuration(llm, service), indent=1))  # JSON is YAML
    command = [sys.executable, "-m", "fluxrpc", "serve", "--config", str(file)]
    with log.open("w") as output:
        child = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT)
    try:
        _await_port(service.port, child, log)
        yield service
    finally:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _await_port(port: int, child: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise ServiceError(f"fluxrpc did not start:\n{log.read_text()}")
