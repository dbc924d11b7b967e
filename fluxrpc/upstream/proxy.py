"""Which proxy a request goes through: none, unless the settings say so.

A library that reads the environment by itself would send provider keys through whatever a host happens to set, and
reads `.netrc` along with it; so the environment is read here, only when asked.
"""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fluxrpc.upstream.exchange import TransportSettings

__all__ = ["proxy_for"]


def proxy_for(url: str, settings: TransportSettings) -> str | None:
    """The proxy's URL for a request to `url`; an explicit one wins over the environment's."""
    if settings.proxy_url is not None or not settings.trust_env:
        return settings.proxy_url
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")
