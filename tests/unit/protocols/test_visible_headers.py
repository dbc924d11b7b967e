from __future__ import annotations

from fluxrpc.protocols.headers import visible_headers


def test_only_listed_headers_reach_the_caller() -> None:
    assert visible_headers(
        {
            "x-request-id": "r",
            "set-cookie": "c",
            "retry-after": "3",
            "anthropic-ratelimit-requests-remaining": "1",
            "x-ratelimit-reset-tokens": "6m0s",
            "openai-organization": "ours",
            "request-id": "bad\nvalue",
            "openai-processing-ms": "\xe9",
        }
    ) == (
        ("x-request-id", "r"),
        ("retry-after", "3"),
        ("anthropic-ratelimit-requests-remaining", "1"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    )
