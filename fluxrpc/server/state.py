"""What a running server serves from: settings and catalog, swapped together at a reload."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fluxrpc.clock import Monotonic
from fluxrpc.config.schema import Settings
from fluxrpc.server.catalog import Catalog


@dataclass(slots=True, kw_only=True)
class ServingState:
    """The one mutable reference of the server; a request reads it once, at its start."""

    settings: Settings
    catalog: Catalog
    clock: Monotonic

    def allowed_models(self, caller: str) -> Collection[str] | None:
        """The models that a caller may use; None: all."""
        settings = self.settings.callers.get(caller)
        return None if settings is None else settings.models
