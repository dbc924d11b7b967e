"""Which protocols there are: one row each. Adding a protocol is its folder and its row here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fluxrpc.protocols.anthropic.native import AnthropicNative
from fluxrpc.protocols.base import NativeCodec, Protocol, TypedCodec
from fluxrpc.protocols.cohere.native import CohereNative
from fluxrpc.protocols.gemini.native import GeminiNative
from fluxrpc.protocols.openai.native import OpenAINative
from fluxrpc.protocols.openai.typed import OpenAITyped
from fluxrpc.protocols.responses.native import ResponsesNative

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

TYPED: Mapping[Protocol, TypedCodec] = MappingProxyType({Protocol.OPENAI: OpenAITyped()})
"""The typed half, where there is one."""
