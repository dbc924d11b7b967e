"""The five wire protocols as a provider writes them. They share no code with the gateway's own codecs."""

from __future__ import annotations

from collections.abc import Mapping

from fluxrpc.simulator.dialects import anthropic, cohere, gemini, openai, responses
from fluxrpc.simulator.dialects.base import Dialect

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (openai.DIALECT, anthropic.DIALECT, gemini.DIALECT, cohere.DIALECT, responses.DIALECT)
}
