"""The load generator and the upstream as Python values: what was asked, what came back, what the upstream saw."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.bench.processes import BUILD, BenchError, Cores, pinned, running

EXTRA_SECONDS = 90


class UpstreamStats(msgspec.Struct, frozen=True, kw_only=True):
    """What the upstream has served since it started."""

    requests: int
    completed: int
    events: int
    open_streams: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What the load generator met in one run."""

    calls: int
    statuses: dict[str, int]
    seconds: float
    messages: int
    events: int
    bytes: int
    latency_p50_ms: float
    latency_p99_ms: float
    first_data_p50_ms: float
    first_data_p99_ms: float

    @property
    def succeeded(self) -> int:
        return self.statuses.get("OK", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The running C upstream."""

    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> UpstreamStats:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=5) as answer:
            return msgspec.json.decode(answer.read(), type=UpstreamStats)


@contextmanager
def running_upstream(binary: Path, *, cores: Cores) -> Iterator[Upstream]:
    """Starts the upstream; it prints its port."""
    with running([str(binary)], cores=cores.load, log=BUILD / "upstream.log", piped=True) as child:
        line = child.stdout.readline() if child.stdout else ""
        if not line.strip().isdigit():
            raise BenchError("the upstream did not start; see build/bench/upstream.log")
        yield Upstream(port=int(line))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One kind of call: where it goes and with which bytes."""

    kind: str
    target: str
    body: bytes
    method: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How calls are started: `concurrency` workers without pause, or `rps` evenly spaced."""

    seconds: float
    concurrency: int = 64
    connections: int = 8
    rps: float = 0
    stagger_seconds: float = 0
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The compiled load generator."""

    binary: Path
    cores: Cores

    def start(self, call: Call, pace: Pace) -> subprocess.Popen[str]:
        """Starts one run in the background; `finish` collects it."""
        body_file = BUILD / "body.bin"
        body_file.write_bytes(call.body)
        flags = {
            "kind": call.kind,
            "target": call.target,
            "method": call.method,
            "body": body_file,
            "token": call.token,
            "concurrency": pace.concurrency,
            "connections": pace.connections,
            "rps": pace.rps,
            "seconds": pace.seconds,
            "stagger-ms": pace.stagger_seconds * 1000,
            "once": str(pace.once).lower(),
        }
        command = [str(self.binary), *(f"-{name}={value}" for name, value in flags.items())]
        with pinned(self.cores.load):
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, child: subprocess.Popen[str], *, timeout_seconds: float = EXTRA_SECONDS) -> Report:
        """Waits for a run. Raises BenchError where it failed or any call did."""
        try:
            output, errors = child.communicate(timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise BenchError("the load generator did not end in time") from None
        if child.returncode:
            raise BenchError(f"the load generator failed: {errors.strip()}")
        report = msgspec.json.decode(output, type=Report)
        if report.succeeded != report.calls:
            raise BenchError(f"calls failed: {report.statuses}")
        return report

    def run(self, call: Call, pace: Pace) -> Report:
        return self.finish(self.start(call, pace), timeout_seconds=pace.seconds + EXTRA_SECONDS)
