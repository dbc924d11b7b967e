from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxrpc.protocols.envelope import is_replayable, seal, unseal
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_OTHER,
    OPAQUE_KIND_SIGNATURE,
    PROTOCOL_ANTHROPIC,
    PROTOCOL_GEMINI,
    OpaqueKind,
    OpaqueState,
    Protocol,
)

NEWER = 99


def test_an_envelope() -> None:
    state = OpaqueState(
        kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_ANTHROPIC, service="eu.1", model="claude/x", value=b"\xff\xfe"
    )
    assert seal(state) == "gw1.anthropic.eu%2E1.claude%2Fx.signature.__4"


@given(
    st.builds(
        OpaqueState,
        kind=st.sampled_from(OpaqueKind.values()),
        kind_raw=st.text(max_size=4),
        origin=st.sampled_from(Protocol.values()),
        service=st.text(max_size=4),
        model=st.text(".~%a\u00e9", max_size=4),
        value=st.binary(max_size=8),
    )
)
def test_there_and_back(state: OpaqueState) -> None:
    assert unseal(seal(state)) == state


def test_what_is_newer_than_this_code() -> None:
    state = unseal(seal(OpaqueState(kind=NEWER, origin=NEWER, value=b"x")))  # type: ignore[arg-type]  # a newer peer
    assert state == OpaqueState(kind=OPAQUE_KIND_OTHER, value=b"x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "QUJD",
        "gw2.anthropic...signature.QUJD",
        "gw1.anthropic.signature.QUJD",
        "gw1.nobody...signature.QUJD",
        "gw1.anthropic...nothing.QUJD",
        "gw1.anthropic...signature.Q",
    ],
)
def test_what_is_none(text: str) -> None:
    assert unseal(text) is None


@pytest.mark.parametrize(
    ("service", "origin", "target_service", "replayable"),
    [
        ("a", PROTOCOL_ANTHROPIC, "a", True),
        ("", PROTOCOL_ANTHROPIC, "a", True),
        ("a", PROTOCOL_ANTHROPIC, "", True),
        ("a", PROTOCOL_ANTHROPIC, "b", False),
        ("a", PROTOCOL_GEMINI, "a", False),
    ],
)
def test_state_goes_back_to_its_origin_only(
    service: str, origin: Protocol.ValueType, target_service: str, replayable: bool
) -> None:
    state = OpaqueState(origin=PROTOCOL_ANTHROPIC, service=service)
    assert is_replayable(state, origin, target_service) is replayable
