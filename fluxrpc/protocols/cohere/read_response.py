"""Cohere Chat, version 2: read_response."""

from __future__ import annotations

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.response_pb2 import MessageResponse


def read_response(body: bytes, context: Context, notes: Notes) -> MessageResponse:
    raise NotImplementedError
