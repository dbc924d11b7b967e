"""What the URL of a provider may look like: one rule for the configuration and for programs that embed the router.

Pure. Invariant: no complaint repeats the URL, which may hold a password.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

FORM = "expected a URL such as https://api.example.com/v1"

_UNSAFE = re.compile(r"[^\x21-\x7e]|[\\${}]")
# Labels of at most 63 characters (RFC 1035, 2.3.4): resolvers raise on longer and on empty ones.
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?|[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII)

# Azure OpenAI says the version in the query. Other queries may hold keys, which do not belong into a file.
_VERSION_QUERY = re.compile(r"api-version=[A-Za-z0-9.-]+", re.ASCII)


def check_base_url(url: str, *, allow_password: bool = False, allow_query: bool = True) -> None:
    """Check an absolute http or https URL.

    Raises:
        ValueError: it cannot be used; the text says what is expected.
    """
    if _UNSAFE.search(url):
        raise ValueError(f"{FORM}: no blanks, no ${{…}}, ASCII only")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(f"{FORM}; its host or port is not valid") from None
    if flaw := _flaw_of(parts, url, port, allow_password=allow_password, allow_query=allow_query):
        raise ValueError(FORM + flaw)


def _flaw_of(parts: SplitResult, url: str, port: int | None, *, allow_password: bool, allow_query: bool) -> str:
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return ", with http or https and a host"
    if "@" in parts.netloc and not allow_password:
        return ", without user or password: secrets do not stand in a URL"
    if port == 0 or not _HOST.fullmatch(parts.hostname):
        return "; its host or port is not valid"
    if "#" in url or ("?" in url and not allow_query and not _VERSION_QUERY.fullmatch(parts.query)):
        return ", without query (but api-version=…) or fragment"
    if any(piece in {".", ".."} for piece in parts.path.lower().replace("%2e", ".").split("/")):
        return ", without . or .. in its path"
    return ""
