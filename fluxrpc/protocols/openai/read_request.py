"""OpenAI Chat Completions: read_request."""

from __future__ import annotations

from fluxrpc.protocols.base import ReadRequest
from fluxrpc.protocols.notes import Places


def read_request(body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:
    raise NotImplementedError
