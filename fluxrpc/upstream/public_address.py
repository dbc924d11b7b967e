"""Which addresses a URL of a caller may lead to: those of the public internet, and no other. Pure.

A caller's URL is fetched from within our network, where metadata services, databases and consoles trust whoever can
reach them (https://owasp.org/www-community/attacks/Server_Side_Request_Forgery).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

__all__ = ["is_public"]

_NAT64 = IPv6Network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are an IPv4 address, and a gateway goes there."""


def is_public(address: str) -> bool:
    """Whether a numeric address is globally reachable; what is not in plain notation is not."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return all(one.is_global and not one.is_multicast for one in _meant(parsed))


def _meant(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """The addresses at which a packet may end: IPv6 has several ways to name an IPv4 address."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    within: list[IPv4Address | IPv6Address] = [address]
    if address.sixtofour is not None:
        within.append(address.sixtofour)
    if address.teredo is not None:
        within.extend(address.teredo)
    if address in _NAT64:
        within.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return within
