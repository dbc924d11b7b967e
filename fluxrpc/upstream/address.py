"""Where a request goes and with which key: base URL plus protocol path, and the credential's header. Pure.

Invariant: only the configured host is ever contacted. Whatever a model is called, its name stays inside the path.
"""

from __future__ import annotations

import re
from enum import StrEnum
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from fluxrpc.protocols.base import Protocol

__all__ = ["PATHS", "AuthStyle", "auth_headers", "checked_base_url", "gemini_path", "join", "model_segment"]

PATHS: dict[Protocol, str] = {
    Protocol.OPENAI: "/v1/chat/completions",
    Protocol.ANTHROPIC: "/v1/messages",
    Protocol.COHERE: "/v2/chat",
    Protocol.RESPONSES: "/v1/responses",
}
"""Gemini is missing: its path holds the model (`gemini_path`)."""

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

_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]", re.ASCII)

_UNSAFE = re.compile(r"[^\x21-\x7e]")

_GEMINI_COLLECTIONS = ("models", "tunedModels")


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


def checked_base_url(url: str) -> str:
    """The base URL without trailing slashes, if it can be used.

    Raises:
        ValueError: with what is wrong, never with the URL itself: it may hold a password.
    """
    if _UNSAFE.search(url):
        raise ValueError("a base URL holds printable ASCII only, and no spaces")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError("not a URL, or its port is not a number up to 65535") from error
    if parts.scheme not in {"http", "https"}:
        raise ValueError("a base URL begins with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("a base URL holds no user or password: name the key as the credential")
    host = parts.netloc.rsplit(":", 1)[0] if port is not None else parts.netloc.removesuffix(":")
    if not _HOST.fullmatch(host):
        raise ValueError("a base URL needs a host name or address")
    if parts.fragment or url.endswith("#"):
        raise ValueError("a base URL has no fragment (#…)")
    if "\\" in url or any(piece in {".", ".."} for piece in parts.path.split("/")):
        raise ValueError("a base URL has no backslash and no . or .. in its path")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/")))


def join(base_url: str, protocol_path: str) -> str:
    """The URL to call: the base's own version replaces the version of the protocol's path; both queries are kept.

    `base_url` must have passed `checked_base_url`, `protocol_path` begins with a slash.

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


def model_segment(model: str) -> str:
    """The model name as one path segment: no name can leave it.

    >>> model_segment("a/../b?c")
    'a%2F..%2Fb%3Fc'
    """
    escaped = quote(model, safe="", errors="surrogatepass")
    # A segment of dots alone is resolved away by clients and servers (RFC 3986, 5.2.4).
    return escaped.replace(".", "%2E") if escaped.strip(".") == "" else escaped


def gemini_path(model: str, *, stream: bool) -> str:
    """The path of generateContent, with or without the collection in the model's name."""
    collection, slash, name = model.partition("/")
    if not slash or collection not in _GEMINI_COLLECTIONS or not name:
        collection, name = "models", model
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/{collection}/{model_segment(name)}:{method}"


def auth_headers(
    protocol: Protocol, secret: str, *, style: AuthStyle | None = None, anthropic_version: str | None = None
) -> tuple[tuple[str, str], ...]:
    """The headers that a service needs to know us by.

    `style` overrides the protocol's own; `anthropic_version` is the caller's choice if it sent one.
    """
    style = style or _STYLES[protocol]
    headers: list[tuple[str, str]] = []
    if style is AuthStyle.BEARER:
        headers.append(("authorization", f"Bearer {secret}"))
    elif style is not AuthStyle.NONE:
        headers.append((style.value, secret))
    if protocol is Protocol.ANTHROPIC and anthropic_version is None:
        headers.append(("anthropic-version", ANTHROPIC_VERSION))
    return tuple(headers)
