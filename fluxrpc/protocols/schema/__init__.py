"""JSON Schemas down to what a provider takes, with a note for each keyword that it cannot have."""

from fluxrpc.protocols.schema.convert import alters_arguments, convert
from fluxrpc.protocols.schema.profile import (
    ANTHROPIC_STRICT,
    CHAT_STRICT,
    COHERE,
    GEMINI_JSON_SCHEMA,
    GEMINI_SCHEMA,
    PLAIN,
    SchemaProfile,
)
from fluxrpc.protocols.schema.restore import restored

__all__ = [
    "ANTHROPIC_STRICT",
    "CHAT_STRICT",
    "COHERE",
    "GEMINI_JSON_SCHEMA",
    "GEMINI_SCHEMA",
    "PLAIN",
    "SchemaProfile",
    "alters_arguments",
    "convert",
    "restored",
]
