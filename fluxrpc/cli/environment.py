"""What gRPC reads from the environment, once, when it is imported. So commands import it late, after this."""

from __future__ import annotations

import os

# Its C core would write lines of its own to standard error, which no reader of our log can parse and which say what our
# own lines say, and it would prepare for forks that never come.
# The switch makes the listener poll in our thread instead of handing each event over: a seventh of a call's CPU.
_GRPC = {
    "GRPC_VERBOSITY": "NONE",
    "GRPC_ENABLE_FORK_SUPPORT": "0",
    "GRPC_EXPERIMENTS": "-event_engine_listener",
}


def prepare_grpc() -> None:
    """Set what the user has not set; called before the first import of grpc."""
    for name, value in _GRPC.items():
        os.environ.setdefault(name, value)
