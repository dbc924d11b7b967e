"""Which response headers of a provider a caller may see.

Everything else stays here: cookies, server names, account ids. So does a value beyond printable ASCII: neither a
contract's text nor a log can hold the raw bytes that stand in it (RFC 9110, 5.5).
"""

from __future__ import annotations

from fluxrpc.protocols.base import Headers

_NAMES = frozenset({
    "openai-processing-ms", "openai-version", "request-id", "retry-after", "retry-after-ms", "x-request-id",
    "x-should-retry",
})  # fmt: skip
_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-", "anthropic-priority-")


def visible_headers(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Request ids, rate limits and retry hints, in the order of the answer."""
    return tuple(
        (name, value)
        for name, value in headers.items()
        if (name in _NAMES or name.startswith(_PREFIXES)) and value.isascii() and value.isprintable()
    )
