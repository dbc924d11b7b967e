"""Images fetched by URL, over real sockets: what is taken, and every way in which a URL may not lead astray."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fluxrpc.upstream.media_fetch import Fetched, FetchSettings, MediaFetcher, Unfetchable
from tests.integration.upstream.conftest import Connection, RawServer

PNG = b"\x89PNG\r\n" + b"x" * 5000
IMAGE = "content-type: image/png\r\n"


@asynccontextmanager
async def fetching(
    *answers: Callable[[Connection], object], is_allowed: Callable[[str], bool] = lambda _: True, **settings: Any
) -> AsyncIterator[tuple[MediaFetcher, str, list[bytes]]]:
    """A fetcher, the URL of a server that gives these answers one after the other, and what that was asked."""
    left = list(answers)
    asked: list[bytes] = []

    async def answer(connection: Connection) -> None:
        asked.append(await connection.request())
        left.pop(0)(connection)
        await connection.until_gone()

    fetcher = MediaFetcher(FetchSettings(**settings), is_allowed=is_allowed)
    server = RawServer(answer)
    await server.start()
    try:
        yield fetcher, server.url.replace("/v1/chat", "/cat.png"), asked
    finally:
        await fetcher.close()
        await fetcher.close()
        await server.stop()


def image(connection: Connection) -> None:
    connection.answer(PNG, headers=IMAGE)


def redirect(location: str) -> Callable[[Connection], None]:
    return lambda connection: connection.answer(b"", status="302 Found", headers=f"location: {location}\r\n")


async def why(fetcher: MediaFetcher, url: str) -> str:
    with pytest.raises(Unfetchable) as caught:
        await fetcher.fetch(url)
    return str(caught.value)


async def test_an_image_with_its_type() -> None:
    async with fetching(lambda c: c.answer(PNG, headers="Content-Type: IMAGE/PNG; q=1\r\n")) as (fetcher, url, asked):
        assert await fetcher.fetch(url) == Fetched(mime_type="image/png", data=PNG)
    head = asked[0].lower()
    assert head.startswith(b"get /cat.png http/1.1\r\n")
    assert b"cookie" not in head
    assert b"authorization" not in head


async def test_a_pdf_in_pieces_and_a_few_redirects() -> None:
    def pdf(connection: Connection) -> None:
        connection.begin_stream("content-type: application/pdf\r\n")
        connection.chunk(b"%PDF")
        connection.chunk(b"-1.7")
        connection.end_stream()

    async with fetching(redirect("/a"), redirect("b"), pdf) as (fetcher, url, asked):
        assert await fetcher.fetch(url) == Fetched(mime_type="application/pdf", data=b"%PDF-1.7")
    assert [line.split()[1] for line in asked] == [b"/cat.png", b"/a", b"/b"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda c: c.answer(b"no", status="404 Not Found"), "status 404"),
        (lambda c: c.answer(b"{}", headers="content-type: application/json\r\n"), "no image"),
        (lambda c: c.answer(b"{}"), "no image"),
        (lambda c: c.answer(PNG, headers=f"{IMAGE}content-encoding: gzip\r\n"), "compressed"),
        (lambda c: c.answer(PNG + b"x" * 6000, headers=IMAGE), "over 10000 bytes"),
        (lambda c: c.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n" + IMAGE.encode() + b"\r\nx"), "time limit"),
        (lambda c: c.send(b"nonsense\r\n\r\n"), "cannot be reached"),
        (redirect("file:///etc/passwd"), "no http"),
        (redirect(""), "redirected too often"),
        (redirect("http://user:pw@127.0.0.1/"), "no http"),
    ],
)
async def test_what_is_not_taken(answer: Callable[[Connection], object], words: str) -> None:
    repeated = [answer] * 5
    async with fetching(*repeated, max_bytes=10_000, timeout_seconds=0.3) as (fetcher, url, _):
        assert words in await why(fetcher, url)


@pytest.mark.parametrize(
    "url", ["ftp://h/x", "//h/x", "/x", "", "http://", "http://u@h/x", "http://[::1", "gopher://h", "javascript:1"]
)
async def test_what_is_no_usable_url(url: str) -> None:
    fetcher = MediaFetcher(FetchSettings())
    assert "no http" in await why(fetcher, url)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "127.1", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0", "0x7f.1"]
)
async def test_no_private_address_is_connected_to(host: str) -> None:
    async with fetching(image) as (_, url, asked):
        fetcher = MediaFetcher(FetchSettings())
        try:
            told = await why(fetcher, url.replace("127.0.0.1", host))
        finally:
            await fetcher.close()
    assert told in {"its address is not public", "it cannot be reached"}
    assert asked == []


async def test_it_is_off_without_settings() -> None:
    fetcher = MediaFetcher()
    assert not fetcher.is_on
    assert await why(fetcher, "http://127.0.0.1/x") == "nothing is fetched here"
    fetcher.configure(FetchSettings())
    assert fetcher.is_on


async def test_nor_after_a_redirect() -> None:
    seen: list[str] = []

    def first_only(address: str) -> bool:
        seen.append(address)
        return len(seen) == 1

    async with fetching(redirect("http://127.0.0.1:9/secret"), image, is_allowed=first_only) as (fetcher, url, asked):
        assert await why(fetcher, url) == "its address is not public"
    assert len(asked) == 1
    assert seen == ["127.0.0.1", "127.0.0.1"]


async def test_the_address_that_is_checked_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves to a public address first and to a private one afterwards is looked up once."""
    answers = ["203.0.113.7", "127.0.0.1"]
    looked_up: list[str] = []

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        looked_up.append(host)
        address = answers[min(len(looked_up), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    checked: list[str] = []

    def check(address: str) -> bool:
        checked.append(address)
        return False

    fetcher = MediaFetcher(FetchSettings(), is_allowed=check)
    assert await why(fetcher, "http://rebind.test/x") == "its address is not public"
    await fetcher.close()
    assert (looked_up, checked) == (["rebind.test"], ["203.0.113.7"])
