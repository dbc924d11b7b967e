"""Which protocols there are: one row each. Adding a protocol is its folder and its row here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fluxrpc.protocols.anthropic.native import AnthropicNative
from fluxrpc.protocols.anthropic.translator import AnthropicTranslator
from fluxrpc.protocols.base import NativeCodec, Protocol, Translator
from fluxrpc.protocols.cohere.native import CohereNative
from fluxrpc.protocols.cohere.translator import CohereTranslator
from fluxrpc.protocols.gemini.native import GeminiNative
from fluxrpc.protocols.gemini.translator import GeminiTranslator
from fluxrpc.protocols.openai.native import OpenAINative
from fluxrpc.protocols.openai.translator import OpenAITranslator
from fluxrpc.protocols.responses.native import ResponsesNative
from fluxrpc.protocols.responses.translator import ResponsesTranslator

NATIVE: Mapping[Protocol, NativeCodec] = MappingProxyType(
    {
        Protocol.OPENAI: OpenAINative(),
        Protocol.ANTHROPIC: AnthropicNative(),
        Protocol.GEMINI: GeminiNative(),
        Protocol.COHERE: CohereNative(),
        Protocol.RESPONSES: ResponsesNative(),
    }
)
"""The native half of each protocol."""

TRANSLATORS: Mapping[Protocol, Translator] = MappingProxyType(
    {
        Protocol.OPENAI: OpenAITranslator(),
        Protocol.ANTHROPIC: AnthropicTranslator(),
        Protocol.GEMINI: GeminiTranslator(),
        Protocol.COHERE: CohereTranslator(),
        Protocol.RESPONSES: ResponsesTranslator(),
    }
)
"""The translating half of each protocol."""
