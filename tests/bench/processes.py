"""The processes of a benchmark: compiled, started on a core of their own, read through /proc, and ended by pid.

Where the system cannot pin or has no /proc (anything but Linux), starting fails early rather than measuring nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "bench"
STOP_SECONDS = 10
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """The benchmark cannot be run, or what it ran did not do the work it was measured for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """Who runs where: the measured server alone, everything else beside it."""

    server: frozenset[int]
    load: frozenset[int]

    @classmethod
    def of_this_machine(cls) -> Cores:
        """The first core for the server and the second for load and upstream; one core is shared by all."""
        usable = sorted(os.sched_getaffinity(0))
        return cls(server=frozenset(usable[:1]), load=frozenset(usable[1:2] or usable))


@contextmanager
def pinned(cores: frozenset[int]) -> Iterator[None]:
    """Children started inside inherit the cores; this process gets its own back afterwards."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def running(
    command: Sequence[str], *, cores: frozenset[int], log: Path, piped: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """A child that writes to `log`; ended on leaving. `piped`: its standard output is the caller's to read."""
    with log.open("w") as output, pinned(cores):
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE if piped else output, stderr=output, text=True, cwd=ROOT
        )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdout is not None:
            child.stdout.close()


def build_upstream() -> Path:
    """Compiles the C upstream."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise BenchError("a C compiler is needed for the upstream (Debian: apt-get install gcc libc6-dev)")
    return _build([compiler, "-O2", "-Wall", "-Wextra", "-o"], HERE / "upstream.c", cwd=HERE)


def build_loadgen() -> Path:
    """Compiles the Go load generator."""
    go = shutil.which("go")
    if go is None:
        raise BenchError("Go is needed for the load generator (https://go.dev/dl/)")
    return _build([go, "build", "-buildvcs=false", "-o"], HERE / "loadgen", cwd=HERE / "loadgen")


def _build(command: Sequence[str], source: Path, *, cwd: Path) -> Path:
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / source.stem
    what = "." if source.is_dir() else str(source)
    done = subprocess.run([*command, str(target), what], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{source.name} did not compile:\n{done.stderr}")
    return target


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its ended children-threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    """What of the process is in memory now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise BenchError(f"process {pid} has ended")
