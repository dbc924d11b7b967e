from __future__ import annotations

import pytest

from fluxrpc.errors import InvalidRequest
from fluxrpc.upstream.headers import inbound


def test_only_listed_headers_reach_the_provider() -> None:
    secret = "CALLER-SECRET"
    allowed, dropped = inbound(
        [
            ("Anthropic-Beta", "a,b"),
            ("authorization", secret),
            ("x-api-key", secret),
            ("x-goog-api-key", secret),
            ("cookie", secret),
            ("Host", "evil"),
            ("openai-organization", "org"),
            ("idempotency-key", "7"),
            ("X-Client-Request-Id", "8"),
        ]
    )
    assert allowed == (
        ("anthropic-beta", "a,b"),
        ("openai-organization", "org"),
        ("idempotency-key", "7"),
        ("x-client-request-id", "8"),
    )
    assert dropped == ("authorization", "x-api-key", "x-goog-api-key", "cookie", "host")


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\nb", "a\x00", "é", "a\x7f", "\ud800", "a\n"])
def test_values_that_cannot_be_sent(value: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        inbound([("x-other", value), ("openai-project", value), ("openai-beta", value)])
    assert [v.path for v in caught.value.violations] == ["native.headers[1]", "native.headers[2]"]
