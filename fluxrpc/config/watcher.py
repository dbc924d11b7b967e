"""Loads a configuration again, and keeps the last good one where that fails.

Not a file watcher: someone asks (SIGHUP). It opens the file by its path each time, so a renamed file and a swapped
symlink are seen. It blocks while it reads: a server calls it off its event loop. The state is one immutable value that
is replaced whole, so a reader in another thread sees the old one or the new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from fluxrpc.clock import WallClock, wall_clock
from fluxrpc.config.schema import Settings
from fluxrpc.errors import ConfigError, ConfigFault

__all__ = ["ReloadState", "Reloader", "needs_restart"]

# Of the server's settings, those that are asked anew for each call; all others are the listener's.
_LIVE = frozenset({"default_deadline_seconds", "max_deadline_seconds", "reserve_seconds", "max_concurrent_rpcs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadState:
    """Which configuration holds, and what became of the last try to replace it."""

    settings: Settings
    generation: int
    """1 for the first, one more for each that was accepted since."""
    loaded_at: float
    """When it was accepted, Unix seconds."""
    last_fault: ConfigError | None = None
    """Why the latest reload failed; None where it did not."""
    last_fault_at: float | None = None


class Reloader:
    """Holds the configuration that was last found sound.

    `load` gives the settings or raises `ConfigError`. The first load happens here and raises; later ones never do.
    """

    def __init__(self, load: Callable[[], Settings], *, clock: WallClock = wall_clock) -> None:
        self._load = load
        self._clock = clock
        self.state = ReloadState(settings=load(), generation=1, loaded_at=clock())

    def reload(self) -> bool:
        """Try to load again. False: the settings are still the old ones, and `state.last_fault` says why."""
        try:
            settings = self._load()
        except ConfigError as error:
            return self._refuse(error)
        except Exception as error:  # noqa: BLE001  # a bug in reading must not take down what runs
            fault = ConfigFault(file="", line=0, path="", message=f"reading it failed: {type(error).__name__}")
            return self._refuse(ConfigError([fault]))
        self.state = ReloadState(settings=settings, generation=self.state.generation + 1, loaded_at=self._clock())
        return True

    def _refuse(self, error: ConfigError) -> bool:
        self.state = replace(self.state, last_fault=error, last_fault_at=self._clock())
        return False


def needs_restart(old: Settings, new: Settings) -> tuple[str, ...]:
    """The paths of settings that differ and are read only when the process starts."""
    changed = [
        f"{section}.{field.name}"
        for section in ("server", "metrics", "log")
        for field in fields(getattr(old, section))
        if field.name not in _LIVE
        and getattr(getattr(old, section), field.name) != getattr(getattr(new, section), field.name)
    ]
    return tuple(changed)
