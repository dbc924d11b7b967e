"""What the service tells of itself: hooks that routing reports through, metrics, log lines."""

from __future__ import annotations
