"""A provider's error, and what must not be told of it."""

from __future__ import annotations

import pytest

from fluxrpc.errors import NativeErrorBody, Outcome, ProviderError

KEY = "sk-live-1"


def error(native: NativeErrorBody | None) -> ProviderError:
    return ProviderError(
        "REJECTED", outcome=Outcome.CALLER, http_status=400, provider_message=f"{KEY} may not", native=native
    )


def test_a_key_that_the_provider_repeats_is_hidden_everywhere() -> None:
    fault = error(NativeErrorBody(protocol="openai", http_status=400, body=f'{{"m":"{KEY}"}}'.encode()))
    fault.hide(KEY)
    assert fault.native is not None
    assert fault.native.body == b'{"m":"[hidden]"}'
    assert fault.provider_message == "[hidden] may not"
    assert KEY not in str(fault)


def test_an_error_without_a_native_body() -> None:
    fault = error(None)
    fault.hide(KEY)
    assert fault.native is None
    assert str(fault) == "REJECTED: [hidden] may not"


@pytest.mark.parametrize("secret", ["", "key"])
def test_what_stands_in_ordinary_words_is_no_secret(secret: str) -> None:
    fault = error(None)
    fault.hide(secret)
    assert fault.provider_message == f"{KEY} may not"
