"""Fuzzing: bodies and streams that no provider and no caller would send, thrown at every reader.

Each target runs in a process of its own under libFuzzer (by atheris), from the corpus of the golden cases, for a
bounded time. A finding is any exception that a reader may not raise; its input is written to build/fuzz.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "fuzz"


def run_target(name: str, seconds: int) -> bool:
    """One target in its own process; whether it found nothing."""
    folder = FOLDER / name
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds()):
        (folder / "corpus" / f"seed-{number}").write_bytes(seed)
    command = [
        sys.executable, "-m", "tests.fuzz.one", name, str(folder / "corpus"),
        f"-max_total_time={seconds}", "-max_len=8192", "-timeout=10", "-print_final_stats=1",
        f"-artifact_prefix={folder}/",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    runs = next((line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed_units" in line), "?")
    print(f"{name:24} {'ok' if done.returncode == 0 else 'FOUND'}  {runs} inputs", flush=True)  # noqa: T201  # its report
    if done.returncode:
        trace = done.stdout + done.stderr
        print(trace[trace.find("Uncaught Python exception") :][:3000])  # noqa: T201
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="time for each target")
    parser.add_argument("--only", choices=sorted(TARGETS), help="one target")
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else sorted(TARGETS)
    passed = [run_target(name, arguments.seconds) for name in names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
