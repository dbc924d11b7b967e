"""A request of OpenAI Responses that is read and written again says the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from tests.unit.protocols.responses.responses_bodies import REQUESTS
from tests.unit.protocols.responses.responses_ways import context_of, read, write


@settings(max_examples=200)
@given(REQUESTS)
def test_own_request_is_written_as_it_was_read(body: dict[str, Any]) -> None:
    request = read(body)
    assert write(request, context_of(request)) == (body, [])
