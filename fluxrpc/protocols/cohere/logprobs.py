"""Probabilities of tokens as Cohere tells them: one item for each piece of text, which may be of several tokens.

The text of a piece stands with its first token; the others have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from fluxrpc.protocols.surrogates import HalfJoiner
from fluxrpc.v1.part_pb2 import TokenLogprob

__all__ = ["LogprobItem", "tokens_of", "written_items"]

_TokenId = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class LogprobItem(msgspec.Struct):
    """One piece."""

    text: str | None = None
    token_ids: list[_TokenId] | None = None
    logprobs: list[float] | None = None


def tokens_of(item: LogprobItem) -> list[TokenLogprob]:
    """The tokens of a piece. Half of a surrogate pair in its text is replaced: no other half follows here."""
    tokens = [TokenLogprob(logprob=logprob) for logprob in item.logprobs or ()]
    for token, token_id in zip(tokens, item.token_ids or (), strict=False):
        token.token_id = token_id
    for token in tokens[:1]:
        joiner = HalfJoiner()
        token.token = joiner.feed(item.text or "") + joiner.close()
    return tokens


def written_items(tokens: Iterable[TokenLogprob]) -> list[dict[str, Any]]:
    """The pieces: a token without text belongs to the piece before it."""
    items: list[dict[str, Any]] = []
    for token in tokens:
        if token.token or not items:
            items.append({"text": token.token, "token_ids": [], "logprobs": []})
        if token.HasField("token_id"):
            items[-1]["token_ids"].append(token.token_id)
        items[-1]["logprobs"].append(token.logprob)
    return items
