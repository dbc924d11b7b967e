"""Fetches images and documents by URL for providers that must be given the bytes. Off unless configured.

The URLs are the callers', so nothing is trusted: only http and https, only public addresses, few redirects, limits on
time and size, no cookies, no credentials, no proxy. Invariant: the very address that is checked is connected to, at
every redirect; a name that resolves to something else a moment later gains nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
from yarl import URL

from fluxrpc.upstream.public_address import is_public

__all__ = ["FetchSettings", "Fetched", "MediaFetcher", "Unfetchable"]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"accept": "image/*, application/pdf", "accept-encoding": "identity", "user-agent": "fluxrpc"}
_MAX_CONNECTIONS = 32
_NO_TIMEOUTS = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
AddressCheck = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """Limits of one fetch."""

    max_bytes: int = 20 * 1024 * 1024
    timeout_seconds: float = 10.0
    """All of it: names, connections, redirects, the body."""
    max_redirects: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was found."""

    mime_type: str
    data: bytes


class Unfetchable(ValueError):
    """It cannot be fetched, or must not be; the text says why and repeats nothing of the answer."""


class MediaFetcher:
    """Fetches over connections of its own, each used once. Belongs to the event loop on which it is first used."""

    def __init__(self, settings: FetchSettings | None = None, *, is_allowed: AddressCheck = is_public) -> None:
        """Without settings it is off."""
        self.configure(settings)
        self._is_allowed = is_allowed
        self._session: aiohttp.ClientSession | None = None

    def configure(self, settings: FetchSettings | None) -> None:
        """Other limits, for what is fetched from now on; None turns it off."""
        self._settings = settings
        self.is_on = settings is not None
        """Whether it may fetch at all."""

    async def fetch(self, url: str) -> Fetched:
        """The bytes behind a URL and their media type.

        Raises:
            Unfetchable: it is no image or document that can be had within the limits.
        """
        settings = self._settings
        if settings is None:
            raise Unfetchable("nothing is fetched here")
        try:
            async with asyncio.timeout(settings.timeout_seconds):
                return await self._follow(url, settings)
        except TimeoutError:
            raise Unfetchable("it did not come within the time limit") from None
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            if _was_refused(error):
                raise Unfetchable("its address is not public") from None
            raise Unfetchable("it cannot be reached") from None

    async def close(self) -> None:
        """Close what is open. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _follow(self, url: str, settings: FetchSettings) -> Fetched:
        target = _checked(url)
        for _ in range(settings.max_redirects + 1):
            async with self._open().get(target, headers=_HEADERS, allow_redirects=False) as response:
                if response.status not in _REDIRECTS:
                    return await _read(response, settings.max_bytes)
                target = _checked(response.headers.get("location", ""), base=target)
        raise Unfetchable("it is redirected too often")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=_MAX_CONNECTIONS, force_close=True, use_dns_cache=False, socket_factory=self._socket
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=_NO_TIMEOUTS,
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        """Asked for a socket for each address that is about to be connected to: the last moment to look at it."""
        family, kind, protocol, _, address = info
        if not self._is_allowed(str(address[0])):
            raise _NotAllowedError
        return socket.socket(family=family, type=kind, proto=protocol)


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> Fetched:
    if response.status != 200:
        raise Unfetchable(f"its server answers with status {response.status}")
    mime_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not (mime_type.startswith("image/") or mime_type == "application/pdf"):
        raise Unfetchable("it is no image and no PDF")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise Unfetchable("it is compressed, though that was not asked for")
    pieces: list[bytes] = []
    total = 0
    async for piece in response.content.iter_any():
        total += len(piece)
        if total > max_bytes:
            raise Unfetchable(f"it is over {max_bytes} bytes")
        pieces.append(piece)
    return Fetched(mime_type=mime_type, data=b"".join(pieces))


class _NotAllowedError(OSError):
    """The address is not to be connected to."""


def _was_refused(error: BaseException) -> bool:
    """Whether the last address that was left was one of those."""
    return isinstance(error, _NotAllowedError) or isinstance(getattr(error, "os_error", None), _NotAllowedError)


def _checked(url: str, *, base: URL | None = None) -> URL:
    try:
        target = URL(url) if base is None else base.join(URL(url))
        if target.scheme in {"http", "https"} and target.host and target.user is None:
            return target
    except ValueError:
        pass
    raise Unfetchable("it is no http or https URL that can be used")
