"""Injected time: what the rest of the package may know of clocks.

Everything that measures an interval takes a `Monotonic`; everything that stamps a moment takes a `WallClock`.
Tests hand in their own functions, so no test waits for time to pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Monotonic = Callable[[], float]
"""Seconds from an arbitrary start, never running backwards."""

WallClock = Callable[[], float]
"""Seconds since the Unix epoch, UTC."""

monotonic: Monotonic = time.monotonic
wall_clock: WallClock = time.time
