from __future__ import annotations

from math import inf, nan

import pytest

from fluxrpc.resilience.door import CredentialDoor, HintDoor, TimedDoor


def test_a_door_is_shut_until_its_moment_and_never_opened_earlier_by_a_shorter_one() -> None:
    door = TimedDoor()
    assert door.is_open(-1e9)
    door.shut(10.0)
    door.shut(5.0)
    assert (door.is_open(9.9), door.is_open(10.0)) == (False, True)
    assert (door.remaining_seconds(4.0), door.remaining_seconds(11.0)) == (6.0, 0.0)


def test_a_rejected_key_is_shut_for_half_an_hour_or_as_configured() -> None:
    usual, short = CredentialDoor(), CredentialDoor(2.0)
    usual.reject(100.0)
    short.reject(100.0)
    assert (usual.shut_until, short.shut_until) == (1900.0, 102.0)


@pytest.mark.parametrize("hint", [None, 0.0, -3.0, nan, inf])
def test_a_hint_that_says_nothing_binds_nothing(hint: float | None) -> None:
    door = HintDoor()
    door.heed(hint, 50.0)
    assert door.is_open(50.0)


def test_a_hint_binds_for_its_time_but_not_for_ever() -> None:
    door = HintDoor()
    door.heed(2.5, 50.0)
    assert door.shut_until == 52.5
    door.heed(1e12, 50.0)
    assert door.shut_until == 50.0 + 86_400
