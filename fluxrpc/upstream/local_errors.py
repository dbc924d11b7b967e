"""Which operating system errors are this machine's own fault, not that of the endpoint it tried to reach."""

from __future__ import annotations

import errno

__all__ = ["LOCAL_ERRNOS"]

LOCAL_ERRNOS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL})
"""File descriptors, memory or ports have run out."""
