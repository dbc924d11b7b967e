"""What a stage is: something that each call enters on its way in, and leaves on every way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fluxrpc.server.call import Call

Metadata = Mapping[str, str | bytes]
"""The caller's metadata; of a repeated key the last value."""

OURS = "/fluxrpc."
"""How the full names of our own methods begin."""


class Stage:
    """Synchronous, so that all stages share one frame with the behaviour: a stream may be served for hours."""

    def concerns(self, method: str) -> bool:
        """Whether calls of that method (`/package.Service/Method`) pass this stage. Asked once for each."""
        return method.startswith(OURS)

    def enter(self, call: Call, context: Any, metadata: Metadata) -> None:
        """Let a call in.

        Raises:
            FluxError: it is refused. `leave` is not called then.
        """

    def leave(self, call: Call) -> None:
        """A call that entered is over, in whatever way. Must not raise."""
