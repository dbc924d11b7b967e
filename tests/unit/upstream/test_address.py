from __future__ import annotations

import pytest

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.base_url import check_base_url
from fluxrpc.upstream.address import AuthStyle, auth_headers, join

CHAT, MESSAGES, COHERE, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v2/chat", "/v1/responses"
GEMINI = "/v1beta/models/m:generateContent"


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://api.openai.com", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1//", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1", RESPONSES, "https://api.openai.com/v1/responses"),
        ("https://api.deepseek.com", CHAT, "https://api.deepseek.com/v1/chat/completions"),
        ("https://api.deepseek.com/anthropic", MESSAGES, "https://api.deepseek.com/anthropic/v1/messages"),
        ("https://open.bigmodel.cn/api/paas/v4", CHAT, "https://open.bigmodel.cn/api/paas/v4/chat/completions"),
        ("https://api.groq.com/openai/v1", CHAT, "https://api.groq.com/openai/v1/chat/completions"),
        ("https://api.cohere.com", COHERE, "https://api.cohere.com/v2/chat"),
        ("https://api.cohere.com/v2/", COHERE, "https://api.cohere.com/v2/chat"),
        ("https://api.cohere.com/compatibility/v1", CHAT, "https://api.cohere.com/compatibility/v1/chat/completions"),
        ("https://g.example/v1beta/openai", CHAT, "https://g.example/v1beta/openai/chat/completions"),
        ("https://c.example/v1/acct/gw/openai", CHAT, "https://c.example/v1/acct/gw/openai/chat/completions"),
        ("https://c.example/v1/acct/gw/anthropic", MESSAGES, "https://c.example/v1/acct/gw/anthropic/v1/messages"),
        (
            "https://g.example/v1/projects/p/locations/l/publishers/google",
            GEMINI,
            "https://g.example/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
        ),
        ("https://g.example", GEMINI, "https://g.example/v1beta/models/m:generateContent"),
        ("https://g.example/v1", GEMINI, "https://g.example/v1/models/m:generateContent"),
        ("https://g.example/v1beta", GEMINI, "https://g.example/v1beta/models/m:generateContent"),
        ("https://g.example/v1beta1/", GEMINI, "https://g.example/v1beta1/models/m:generateContent"),
        (
            "https://x.openai.azure.com/openai/deployments/d?api-version=2026-01-01",
            CHAT,
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2026-01-01",
        ),
        (
            "https://g.example/v1?tenant=7",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            "https://g.example/v1/models/m:streamGenerateContent?tenant=7&alt=sse",
        ),
        ("http://127.0.0.1:8080/voices", CHAT, "http://127.0.0.1:8080/voices/v1/chat/completions"),
        ("http://[::1]:8080", CHAT, "http://[::1]:8080/v1/chat/completions"),
    ],
)
def test_bases_and_paths_join(base: str, path: str, url: str) -> None:
    check_base_url(base)
    assert join(base, path) == url


@pytest.mark.parametrize(
    ("protocol", "header"),
    [
        (Protocol.OPENAI, ("authorization", "Bearer k")),
        (Protocol.RESPONSES, ("authorization", "Bearer k")),
        (Protocol.COHERE, ("authorization", "Bearer k")),
        (Protocol.GEMINI, ("x-goog-api-key", "k")),
    ],
)
def test_keys_go_where_the_protocol_wants_them(protocol: Protocol, header: tuple[str, str]) -> None:
    assert auth_headers(protocol, "k") == (header,)


def test_anthropic_needs_a_version() -> None:
    version = ("anthropic-version", "2023-06-01")
    assert auth_headers(Protocol.ANTHROPIC, "k") == (("x-api-key", "k"), version)
    assert auth_headers(Protocol.ANTHROPIC, "k", style=AuthStyle.BEARER) == (("authorization", "Bearer k"), version)


def test_a_service_may_want_another_style() -> None:
    assert auth_headers(Protocol.OPENAI, "k", style=AuthStyle.API_KEY) == (("api-key", "k"),)
    assert auth_headers(Protocol.OPENAI, "k", style=AuthStyle.NONE) == ()


def test_every_protocol_has_a_style() -> None:
    assert all(auth_headers(protocol, "k") for protocol in Protocol)
