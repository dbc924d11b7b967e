"""Gemini generateContent: write_request."""

from __future__ import annotations

from fluxrpc.protocols.base import WireRequest
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import MessageRequest


def write_request(request: MessageRequest, context: Context, notes: Notes) -> WireRequest:
    raise NotImplementedError
