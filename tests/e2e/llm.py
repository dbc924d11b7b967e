"""The real LLM as seen from outside: started, awaited, killed in the middle of a stream, started again on its port.

Not the server itself (that is llm_server.py, which runs with an interpreter of its own), and no client.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PYTHON = ROOT / ".envs" / "e2e" / "bin" / "python"
PROGRAM = Path(__file__).with_name("llm_server.py")
READY_SECONDS = 60
POLL_SECONDS = 0.05
MODEL = "gemma3-270m"


class LlmError(Exception):
    """The LLM cannot be started."""


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True, kw_only=True)
class Llm:
    """One LLM on one port; the port stays the same over restarts."""

    log: Path
    port: int = field(default_factory=free_port)
    _child: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> float:
        """Starts the process and waits until it answers; returns the seconds it took. Raises LlmError."""
        if not PYTHON.exists():
            raise LlmError(f"{PYTHON.relative_to(ROOT)} is missing: make e2e makes it")
        command = [str(PYTHON), str(PROGRAM), "--port", str(self.port), "--alias", MODEL]
        began = time.monotonic()
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        while not self._answers():
            if self._child.poll() is not None:
                raise LlmError(f"the LLM ended with {self._child.returncode}; see {self.log.relative_to(ROOT)}")
            if time.monotonic() - began > READY_SECONDS:
                self.kill()
                raise LlmError(f"the LLM was not ready in {READY_SECONDS} s")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL, as the kernel does when memory runs out: sockets close at once, nothing is said."""
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        if self._child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()
        self._child = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def running_llm(log: Path) -> Iterator[Llm]:
    """A started LLM that ends with the block."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    llm = Llm(log=log)
    try:
        llm.start()
        yield llm
    finally:
        llm.kill()
