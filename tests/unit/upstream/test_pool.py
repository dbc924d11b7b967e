from __future__ import annotations

from fluxrpc.upstream.exchange import Exchange, OutgoingRequest, TransportSettings
from fluxrpc.upstream.pool import TransportPool


class Fake:
    def __init__(self, settings: TransportSettings) -> None:
        self.settings = settings
        self.retired = self.closed = 0
        self.in_use = 0

    async def send(self, request: OutgoingRequest) -> Exchange:
        raise AssertionError(request)

    def retire(self) -> None:
        self.retired += 1

    async def close(self) -> None:
        self.closed += 1


def pooled(pool: TransportPool, name: str, settings: TransportSettings) -> Fake:
    transport = pool.transport(name, settings)
    assert isinstance(transport, Fake)
    return transport


PLAIN, SMALL = TransportSettings(), TransportSettings(max_connections=1)


async def test_one_transport_for_an_endpoint_until_its_settings_change() -> None:
    pool = TransportPool(build=Fake)
    first = pooled(pool, "a", PLAIN)
    assert pooled(pool, "a", TransportSettings()) is first
    assert pooled(pool, "b", PLAIN) is not first
    changed = pooled(pool, "a", SMALL)
    assert (first.retired, changed.settings) == (1, SMALL)
    await pool.close()


async def test_what_a_reload_drops_is_retired_and_still_closed_at_the_end() -> None:
    pool = TransportPool(build=Fake)
    kept, busy, idle, last = (pooled(pool, name, PLAIN) for name in "kbil")
    busy.in_use = 1
    pool.keep_only({"k", "l"})
    assert [t.retired for t in (kept, busy, idle, last)] == [0, 1, 1, 0]
    pool.keep_only({"k"})
    assert last.retired == 1
    await pool.close()
    await pool.close()
    assert (kept.closed, busy.closed, last.closed) == (1, 1, 1)
    assert idle.closed == 0  # forgotten once nobody used it: it holds nothing


async def test_an_injected_transport_is_used_and_stays_its_givers() -> None:
    given = Fake(PLAIN)
    pool = TransportPool(injected={"a": given}, build=Fake)
    assert pool.transport("a", SMALL) is given
    pool.keep_only(())
    await pool.close()
    assert (given.retired, given.closed) == (0, 0)
