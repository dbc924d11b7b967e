"""Where a request goes and with which key: base URL plus protocol path, and the credential's header. Pure.

Invariant: only the configured host is ever contacted. Whatever a model is called, its name stays inside the path.
"""

from __future__ import annotations

import re
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit, urlunsplit

from fluxrpc.protocols.base import Protocol

__all__ = ["AuthStyle", "auth_headers", "join"]

_VERSION_PATTERN = r"v\d+(?:(?:alpha|beta)\d*)?"
_VERSION = re.compile(_VERSION_PATTERN, re.ASCII)
"""`v1`, `v4`, `v1beta`, `v1beta1`, `v1alpha`."""

_COMPLETE_BASE = re.compile(
    rf"/{_VERSION_PATTERN}$"
    # Google's and Cloudflare's OpenAI endpoints (/v1beta/openai, /v1/{account}/{gateway}/openai).
    rf"|/{_VERSION_PATTERN}/(?:.+/)?openai$"
    # Vertex: /v1/projects/{project}/locations/{location}/publishers/google.
    rf"|/{_VERSION_PATTERN}/projects/.+/publishers/[^/]+$"
    # Azure: /openai/deployments/{deployment}?api-version=….
    r"|/openai/deployments/[^/]+$",
    re.ASCII,
)
"""Paths of base URLs that have decided the version already; to all others the protocol adds its own."""


class AuthStyle(StrEnum):
    """How a service wants its key."""

    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"
    API_KEY = "api-key"
    """Azure OpenAI."""
    NONE = "none"


_STYLES: dict[Protocol, AuthStyle] = {
    Protocol.OPENAI: AuthStyle.BEARER,
    Protocol.ANTHROPIC: AuthStyle.X_API_KEY,
    Protocol.GEMINI: AuthStyle.X_GOOG_API_KEY,
    Protocol.COHERE: AuthStyle.BEARER,
    Protocol.RESPONSES: AuthStyle.BEARER,
}

ANTHROPIC_VERSION = "2023-06-01"
"""Required by the API; a caller's own choice wins (https://docs.claude.com/en/api/versioning)."""


def join(base_url: str, protocol_path: str) -> str:
    """The URL to call: the base's own version replaces the version of the protocol's path; both queries are kept.

    `base_url` must have passed `protocols.base_url.check_base_url`, `protocol_path` begins with a slash.

    >>> join("https://api.openai.com/v1", "/v1/chat/completions")
    'https://api.openai.com/v1/chat/completions'
    """
    base = urlsplit(base_url)
    path, _, query = protocol_path.partition("?")
    base_path = base.path.rstrip("/")
    _, first, rest = path.split("/", 2)
    if _VERSION.fullmatch(first) and _COMPLETE_BASE.search(base_path):
        path = f"/{rest}"
    joined = SplitResult(
        scheme=base.scheme,
        netloc=base.netloc,
        path=base_path + path,
        query="&".join(part for part in (base.query, query) if part),
        fragment="",
    )
    return urlunsplit(joined)


def auth_headers(protocol: Protocol, secret: str, *, style: AuthStyle | None = None) -> tuple[tuple[str, str], ...]:
    """The headers that a service needs to know us by.

    `style` overrides the protocol's own.
    """
    style = style or _STYLES[protocol]
    headers: list[tuple[str, str]] = []
    if style is AuthStyle.BEARER:
        headers.append(("authorization", f"Bearer {secret}"))
    elif style is not AuthStyle.NONE:
        headers.append((style.value, secret))
    if protocol is Protocol.ANTHROPIC:
        headers.append(("anthropic-version", ANTHROPIC_VERSION))
    return tuple(headers)
