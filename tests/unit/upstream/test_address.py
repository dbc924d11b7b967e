from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxrpc.protocols.base import Protocol
from fluxrpc.upstream.address import (
    PATHS,
    AuthStyle,
    auth_headers,
    checked_base_url,
    gemini_path,
    join,
    model_segment,
)

CHAT, MESSAGES, COHERE = PATHS[Protocol.OPENAI], PATHS[Protocol.ANTHROPIC], PATHS[Protocol.COHERE]
GEMINI = "/v1beta/models/m:generateContent"


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://api.openai.com", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1//", CHAT, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1", PATHS[Protocol.RESPONSES], "https://api.openai.com/v1/responses"),
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
    assert join(checked_base_url(base), path) == url
    assert join(base, path) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.openai.com",
        "ftp://host",
        "file:///etc/passwd",
        "https://",
        "https:///v1",
        "https://user:pass@host/v1",
        "https://key@host",
        "https://host:port/",
        "https://host:70000/",
        "https://host/v1#x",
        "https://host/v1#",
        "https://ho st/",
        "https://host/\nv1",
        "https://höst/",
        "https://host/a/../b",
        "https://host\\evil/",
        "https://[::1",
        "https://a,b/",
    ],
)
def test_bases_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        checked_base_url(url)


def test_a_complaint_does_not_repeat_the_url() -> None:
    with pytest.raises(ValueError, match="credential") as caught:
        checked_base_url("https://user:SECRET@host")
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3-pro", "/v1beta/models/gemini-3-pro:generateContent"),
        ("models/gemini-3-pro", "/v1beta/models/gemini-3-pro:generateContent"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine:generateContent"),
        ("models/a/b", "/v1beta/models/a%2Fb:generateContent"),
        ("../../evil", "/v1beta/models/..%2F..%2Fevil:generateContent"),
        ("models/..", "/v1beta/models/%2E%2E:generateContent"),
        ("x?key=y#z", "/v1beta/models/x%3Fkey%3Dy%23z:generateContent"),
        ("a\r\nHost: evil", "/v1beta/models/a%0D%0AHost%3A%20evil:generateContent"),
        ("//evil.example/x", "/v1beta/models/%2F%2Fevil.example%2Fx:generateContent"),
        ("@evil", "/v1beta/models/%40evil:generateContent"),
        ("models/", "/v1beta/models/models%2F:generateContent"),
    ],
)
def test_gemini_models_stay_in_their_segment(model: str, path: str) -> None:
    assert gemini_path(model, stream=False) == path
    assert gemini_path(model, stream=True) == path.replace("generateContent", "streamGenerateContent?alt=sse")


@given(st.text())
def test_no_model_name_reaches_another_host_or_segment(model: str) -> None:
    url = join("https://host.example/v1", gemini_path(model, stream=False))
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "host.example", "", "")
    assert len(parts.path.split("/")) == 4
    assert url.isascii()
    assert url.isprintable()


def test_a_lone_surrogate_is_escaped_like_anything_else() -> None:
    assert model_segment("\ud800") == "%ED%A0%80"


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
    assert auth_headers(Protocol.ANTHROPIC, "k", anthropic_version="2026-10-21") == (("x-api-key", "k"),)
    assert auth_headers(Protocol.ANTHROPIC, "k", style=AuthStyle.BEARER) == (("authorization", "Bearer k"), version)


def test_a_service_may_want_another_style() -> None:
    assert auth_headers(Protocol.OPENAI, "k", style=AuthStyle.API_KEY) == (("api-key", "k"),)
    assert auth_headers(Protocol.OPENAI, "k", style=AuthStyle.NONE) == ()


def test_every_protocol_has_a_path_and_a_style() -> None:
    assert set(PATHS) | {Protocol.GEMINI} == set(Protocol)
    assert all(auth_headers(protocol, "k") for protocol in Protocol)
