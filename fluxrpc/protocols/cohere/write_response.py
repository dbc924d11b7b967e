"""Cohere Chat, version 2: write_response."""

from __future__ import annotations

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.response_pb2 import MessageResponse


def write_response(response: MessageResponse, context: Context, notes: Notes) -> bytes:
    raise NotImplementedError
