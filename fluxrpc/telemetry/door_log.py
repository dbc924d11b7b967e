"""Log lines for doors: a key that its provider rejects, a breaker that opens or closes.

The few lines between "all is well" and "callers see errors" that an operator needs, with names from the configuration
only. Not the access log, and no line for a single failed attempt: those are counted.
"""

from __future__ import annotations

import structlog

from fluxrpc.errors import Outcome
from fluxrpc.telemetry.hooks import Hooks

__all__ = ["DoorLog"]

_log = structlog.get_logger("fluxrpc.doors")


class DoorLog(Hooks):
    """Writes a line when a door shuts or opens."""

    __slots__ = ()

    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:  # noqa: ARG002  # not of interest
        """A rejected key is named by the route that used it; the key itself is never known here."""
        if outcome is Outcome.CREDENTIAL:
            _log.warning("credential_shut", route=route, reason=detail)

    def breaker_changed(self, layer: str, target: str, old: str, new: str) -> None:
        """An opening is a warning, all else is information."""
        write = _log.warning if new == "open" else _log.info
        write("breaker_changed", layer=layer, target=target, old=old, new=new)
