"""The `fluxrpc` command as a process of its own, as users and supervisors run it.

    async with serve(folder, CONFIG) as server:
        await server.log_line("serving")
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_status() == 0

Nothing sleeps: tests wait for lines of its log and for its end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_SECONDS = 30.0
EXIT_SECONDS = 30.0
ROOT = Path(__file__).resolve().parents[2]
QUICK: Mapping[str, Any] = {"listen": "127.0.0.1:0", "drain_delay": "0s", "grace": "5s"}


class Running:
    """A running process; its log (standard error) is read as it comes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self._changed = asyncio.Condition()
        self._ended = False
        self._reading = asyncio.create_task(self._read())

    async def log_line(self, event: str) -> dict[str, Any]:
        """The first line of the log with that event, as soon as it is there."""
        async with asyncio.timeout(START_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self._ended or self.events(event))
        assert self.events(event), f"no {event!r} in the log:\n" + "\n".join(self.lines)
        return self.events(event)[0]

    def events(self, event: str) -> list[dict[str, Any]]:
        """All lines of the log with that event so far."""
        read = [json.loads(line) for line in self.lines if line.startswith("{")]
        return [line for line in read if line["event"] == event]

    async def target(self) -> str:
        """Where it listens, once it serves."""
        return f"127.0.0.1:{(await self.log_line('serving'))['port']}"

    async def exit_status(self) -> int:
        """Its exit status, once it has ended."""
        async with asyncio.timeout(EXIT_SECONDS):
            await self._reading
            return await self.process.wait()

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            async with self._changed:
                self.lines.append(line.decode().rstrip("\n"))
                self._changed.notify_all()
        async with self._changed:
            self._ended = True
            self._changed.notify_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A process that has ended."""

    status: int
    stdout: str
    stderr: str


def write_config(folder: Path, config: Mapping[str, Any]) -> Path:
    """A configuration file; what is left out of `server` is made quick and local."""
    path = folder / "fluxrpc.yaml"
    value = {**config, "server": {**QUICK, **config.get("server", {})}}
    path.write_text(json.dumps(value, indent=1))  # JSON is YAML
    return path


@asynccontextmanager
async def serve(folder: Path, config: Mapping[str, Any], **environ: str) -> AsyncIterator[Running]:
    """`fluxrpc serve`; killed at the end of the block where it still runs then."""
    async with start("serve", "--config", str(write_config(folder, config)), environ=environ) as running:
        yield running


@asynccontextmanager
async def start(
    *args: str, stdout: int = asyncio.subprocess.DEVNULL, environ: Mapping[str, str] | None = None
) -> AsyncIterator[Running]:
    """`fluxrpc` with arguments; killed at the end of the block where it still runs then."""
    process = await _spawn(args, environ or {}, stdin=asyncio.subprocess.DEVNULL, stdout=stdout)
    running = Running(process)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await running.exit_status()


async def run(*args: str, stdin: bytes = b"", **environ: str) -> Finished:
    """`fluxrpc` with arguments, to its end."""
    process = await _spawn(args, environ, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(START_SECONDS + EXIT_SECONDS):
            out, err = await process.communicate(stdin)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Finished(status=process.returncode, stdout=out.decode(), stderr=err.decode())


async def _spawn(
    args: tuple[str, ...], environ: Mapping[str, str], *, stdin: int, stdout: int
) -> asyncio.subprocess.Process:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FLUXRPC_")}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "fluxrpc",
        *args,
        stdin=stdin,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**inherited, "COLUMNS": "80", "KEY": "sk-test", **environ},
    )
