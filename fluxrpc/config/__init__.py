"""What the service is told: the schema of its settings, and how a file becomes settings."""

from __future__ import annotations
