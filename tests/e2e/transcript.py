"""What a person reads while the end-to-end run goes on: one line a check, and the count at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

INDENT = "      "


class CheckFailed(Exception):
    """Something is not as it must be; the text says what."""


def expect(holds: object, otherwise: str) -> None:
    """Raises CheckFailed with the text where `holds` is false."""
    if not holds:
        raise CheckFailed(otherwise)


def expect_equal(found: object, wanted: object, what: str) -> None:
    expect(found == wanted, f"{what} is {found!r}, not {wanted!r}")


@dataclass(slots=True)
class Transcript:
    """Writes the run and counts it. A failed check does not end the run: later ones may tell why."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    passed: int = 0
    failed: int = 0
    _notes: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        self._write(f"\n{text}")

    def note(self, text: str) -> None:
        """A detail of the check that is running: it is written below its line."""
        self._notes += text.splitlines()

    @contextmanager
    def check(self, title: str, failure: type[Exception] = CheckFailed) -> Iterator[None]:
        """One check. Fails on CheckFailed and on the `failure` of the client that is used."""
        began = time.monotonic()
        try:
            yield
        except (CheckFailed, failure) as error:
            self.record(title, passed=False, seconds=time.monotonic() - began, detail=str(error))
        else:
            self.record(title, passed=True, seconds=time.monotonic() - began)

    def record(self, title: str, *, passed: bool, seconds: float, detail: str = "") -> None:
        """Counts one result, here or from another program."""
        self.passed += passed
        self.failed += not passed
        self._write(f"  {'ok  ' if passed else 'FAIL'} {title} ({seconds:.2f} s)")
        self.note(detail)
        for line in self._notes:
            self._write(INDENT + line)
        self._notes.clear()

    def close(self) -> int:
        """Writes the count; gives the exit code."""
        self._write(f"\n{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0

    def _write(self, line: str) -> None:
        self.out.write(line + "\n")
        self.out.flush()
