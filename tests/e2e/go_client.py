"""The Go program of the run: built, given its calls, and its results taken into the transcript."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.e2e.calls import ANSWER, MAX_TOKENS, NATIVE_CALLS, PROMPT
from tests.e2e.service import ALIAS, SERVICE, Service
from tests.e2e.transcript import Transcript

SOURCE = Path(__file__).parent / "goclient"
RUN_SECONDS = 300


def check_go_client(transcript: Transcript, service: Service, folder: Path) -> None:
    """Every call once more, from Go. Without Go installed it says so and checks nothing."""
    go = shutil.which("go")
    if go is None:
        transcript.heading("Go is not installed: its client is not checked")
        return
    program = folder / "goclient"
    build = [go, "build", "-buildvcs=false", "-o", str(program), "."]
    built = subprocess.run(build, cwd=SOURCE, capture_output=True, text=True, check=False)
    if built.returncode:
        transcript.record("the Go client compiles", passed=False, seconds=0, detail=built.stderr)
        return
    plan = {
        "target": service.target,
        "token": service.token,
        "model": ALIAS,
        "service": SERVICE,
        "prompt": PROMPT,
        "answer": ANSWER,
        "max_tokens": MAX_TOKENS,
        "calls": [
            {
                "name": call.name,
                "protocol": call.protocol,
                "body": call.request_body().decode(),
                "last_frame": call.last_frame,
            }
            for call in NATIVE_CALLS
        ],
    }
    done = subprocess.run(
        [str(program)], input=json.dumps(plan), capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    for line in done.stdout.splitlines():
        transcript.record(**json.loads(line))
    if done.returncode:
        transcript.record("the Go client runs to its end", passed=False, seconds=0, detail=done.stderr)
