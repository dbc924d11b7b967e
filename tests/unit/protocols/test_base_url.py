from __future__ import annotations

import pytest

from fluxrpc.protocols.base_url import check_base_url


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com",
        "HTTPS://API.openai.com./v1//",
        "http://127.0.0.1:8080/v1?tenant=7",
        "http://[::1]:8080",
        "http://my_host-1/<a>;b,c",
    ],
)
def test_bases_that_can_be_used(url: str) -> None:
    check_base_url(url)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "with http or https"),
        ("api.openai.com", "with http or https"),
        ("ftp://host", "with http or https"),
        ("file:///etc/passwd", "with http or https"),
        ("https://", "and a host"),
        ("https:///v1", "and a host"),
        ("https://:80/", "and a host"),
        ("https://user:pass@host/v1", "without user"),
        ("https://key@host", "without user"),
        ("https://host:port/", "host or port"),
        ("https://host:70000/", "host or port"),
        ("https://host:0/", "host or port"),
        ("https://[::1", "host or port"),
        ("https://a,b/", "host or port"),
        ("https://*/", "host or port"),
        ("https://h%41/", "host or port"),
        ("https://a..b/", "host or port"),
        (f"https://{'a' * 64}/", "host or port"),
        (f"https://{'a.' * 130}b/", "host or port"),
        ("https://host/v1#x", "fragment"),
        ("https://host/v1#", "fragment"),
        ("https://ho st/", "no blanks"),
        ("https://host/\nv1", "no blanks"),
        ("https://h\xf6st/", "ASCII"),
        ("https://host/${KEY}", "no ${"),
        ("https://host\\evil/", "no blanks"),
        ("https://host/a/../b", "in its path"),
        ("https://host/a/%2E./b", "in its path"),
        ("https://host/.", "in its path"),
    ],
)
def test_bases_that_cannot_be_used(url: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a URL such as") as caught:
        check_base_url(url)
    assert complaint in str(caught.value)


def test_a_complaint_does_not_repeat_the_url() -> None:
    with pytest.raises(ValueError, match="user or password") as caught:
        check_base_url("https://user:SECRET@host")
    assert "SECRET" not in str(caught.value)
    check_base_url("https://user:SECRET@host", allow_password=True)


def test_azures_version_is_no_secret() -> None:
    check_base_url("https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21", allow_query=False)
    with pytest.raises(ValueError, match="without query"):
        check_base_url("https://x.openai.azure.com/openai?api-version=1&key=2", allow_query=False)


def test_a_query_may_be_refused() -> None:
    with pytest.raises(ValueError, match="without query"):
        check_base_url("https://host/?", allow_query=False)
