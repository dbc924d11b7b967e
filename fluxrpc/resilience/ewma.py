"""An exponentially weighted moving average: one number that follows what was measured lately."""

from __future__ import annotations

DEFAULT_ALPHA = 0.1


class Ewma:
    """The average of a measurement, weighted towards the recent. `value` is None until the first one."""

    __slots__ = ("_alpha", "value")

    def __init__(self, alpha: float = DEFAULT_ALPHA) -> None:
        self._alpha = alpha
        self.value: float | None = None

    def add(self, sample: float) -> None:
        """Take one measurement; the first one sets the average."""
        self.value = sample if self.value is None else self.value + self._alpha * (sample - self.value)
