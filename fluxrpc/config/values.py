"""What single values may look like: one strict reader for each form.

A reader takes a scalar and gives a value, or raises `Unfit` with what was expected. Nothing is coerced: a number in
quotes is no number, `no` is no text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fluxrpc.config.nodes import Kind, ScalarNode
from fluxrpc.protocols.base_url import check_base_url
from fluxrpc.protocols.dialects import dialect_rows

__all__ = [
    "Address",
    "Bytes",
    "Count",
    "DialectName",
    "Digest",
    "Factor",
    "Flag",
    "FromZero",
    "ListenAddress",
    "Name",
    "PositiveNumber",
    "Seconds",
    "SecondsFromZero",
    "Text",
    "Unfit",
    "Url",
    "Workers",
    "check_url",
    "read_count",
    "read_flag",
    "read_name",
]

MAX_SECONDS = 366 * 86_400.0
MAX_BYTES = 2**31 - 1  # what gRPC takes as the size of a message
MAX_INTEGER = 2**31 - 1
MAX_NAME_LENGTH = 256

_SECONDS_PER = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES_PER = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SIZE = re.compile(r"([0-9]{1,20})(B|KiB|MiB|GiB)")  # the interpreter refuses to convert thousands of digits
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DIGEST = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
_DIALECTS = tuple(filter(None, (*(row.name for row in dialect_rows()), "plain")))
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Unfit(ValueError):
    """A value is not what belongs there; the text says what does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where to listen."""

    host: str
    port: int
    """0 lets the machine choose one."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_text(node: ScalarNode) -> str:
    """A text with something in it."""
    if not isinstance(node.value, str):
        raise _unfit("a text", node)
    if not node.value.strip():
        raise Unfit("expected a text that is not empty")
    if _UNPRINTABLE.search(node.value):
        raise Unfit("expected a text without control characters")
    return node.value


def read_name(node: ScalarNode) -> str:
    """A name: short, with no blank around it. Slashes, dots and colons are usual in model names."""
    name = read_text(node)
    if len(name) > MAX_NAME_LENGTH or name != name.strip():
        raise Unfit(f"expected a name of at most {MAX_NAME_LENGTH} characters, with no blank at its ends")
    return name


def read_flag(node: ScalarNode) -> bool:
    """True or false."""
    if not isinstance(node.value, bool):
        raise _unfit("true or false", node)
    return node.value


def _integer_from(lowest: int) -> Callable[[ScalarNode], int]:
    def read(node: ScalarNode) -> int:
        value = node.value
        if not isinstance(value, int) or isinstance(value, bool):
            raise _unfit("a whole number", node)
        if not lowest <= value <= MAX_INTEGER:
            raise Unfit(f"expected a whole number from {lowest}, not {node.text[:40]}")
        return value

    return read


read_count = _integer_from(1)
"""A whole number from 1."""


def read_workers(node: ScalarNode) -> int:
    """The number of processes: one, until more are supported."""
    if _integer_from(1)(node) != 1:
        raise Unfit("expected 1: more than one process is not supported")
    return 1


def _number_from(lowest: float, *, exclusive: bool) -> Callable[[ScalarNode], float]:
    bound = f"above {lowest:g}" if exclusive else f"from {lowest:g}"

    def read(node: ScalarNode) -> float:
        value = node.value
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise _unfit(f"a number {bound}", node)
        if not (value > lowest if exclusive else value >= lowest) or value > MAX_INTEGER:
            raise Unfit(f"expected a number {bound}, not {node.text[:40]}")
        return float(value)

    return read


def _duration(*, zero: bool) -> Callable[[ScalarNode], float]:
    form = "a duration such as 250ms, 5s, 2m or 1h (a plain number means seconds)"
    bound = "from 0" if zero else "above 0"

    def read(node: ScalarNode) -> float:
        value = node.value
        if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
            seconds = float(match[1]) * _SECONDS_PER[match[2]]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = float(value)
        else:
            raise _unfit(form, node)
        if not (seconds >= 0 if zero else seconds > 0) or seconds > MAX_SECONDS:
            raise Unfit(f"expected a duration {bound}, at most 366 days, not {node.text[:40]}")
        return seconds

    return read


def read_bytes_size(node: ScalarNode) -> int:
    """A size in bytes."""
    value = node.value
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        size = int(match[1]) * _BYTES_PER[match[2]]
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        raise _unfit("a size such as 64KiB or 32MiB (a plain whole number means bytes)", node)
    if not 0 < size <= MAX_BYTES:
        raise Unfit(f"expected a size above 0 and below 2GiB, not {node.text[:40]}")
    return size


def read_address(node: ScalarNode) -> Address:
    """`host:port`, IPv6 in brackets."""
    form = 'an address such as "127.0.0.1:50051" or "[::1]:50051"'
    if not isinstance(node.value, str):
        raise _unfit(form, node)
    host, colon, port = node.value.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port[:6]) > 65_535 or not _is_host(host):
        raise Unfit(f"expected {form}")
    return Address(host=host.strip("[]"), port=int(port))


def _is_host(text: str) -> bool:
    if text.startswith("[") and text.endswith("]"):
        try:
            return ipaddress.ip_address(text[1:-1]).version == 6
        except ValueError:
            return False
    return bool(_HOST_NAME.fullmatch(text))


def read_url(node: ScalarNode) -> str:
    """An absolute http or https URL."""
    if not isinstance(node.value, str):
        raise _unfit("a URL such as https://api.example.com/v1", node)
    check_url(node.value)
    return node.value


def check_url(url: str, *, allow_password: bool = False) -> None:
    """Raise `Unfit` where a URL cannot be a base or a proxy. The URL is not repeated: it may hold a key."""
    try:
        check_base_url(url, allow_password=allow_password, allow_query=False)
    except ValueError as error:
        raise Unfit(str(error)) from None


def read_dialect(node: ScalarNode) -> str:
    """The name of a copy of the OpenAI protocol."""
    name = read_name(node)
    if name not in _DIALECTS:
        raise Unfit(f"expected one of {', '.join(_DIALECTS)}")
    return name


def read_digest(node: ScalarNode) -> bytes:
    """The SHA-256 of a token in hexadecimal."""
    if not isinstance(node.value, str) or not _DIGEST.fullmatch(node.value):
        raise Unfit("expected the SHA-256 of the token: 64 hexadecimal digits, in quotes")
    return bytes.fromhex(node.value)


def _unfit(expected: str, node: ScalarNode) -> Unfit:
    """The complaint about a value of the wrong kind; says what YAML made of it where that surprises."""
    if node.kind is Kind.TEXT:
        return Unfit(f"expected {expected}, not a text")
    if node.kind is Kind.NULL:
        return Unfit(f"expected {expected}, but there is nothing")
    hint = "; put it in quotes" if expected.startswith(("a text", "an address", "a URL")) else ""
    return Unfit(f"expected {expected}, but YAML reads {node.text[:40]} as {node.kind.value}{hint}")


# What the fields of the schema are annotated with: the type, and who reads it.
Text = Annotated[str, read_text]
Name = Annotated[str, read_name]
Flag = Annotated[bool, read_flag]
Url = Annotated[str, read_url]
Count = Annotated[int, read_count]
Workers = Annotated[int, read_workers]
FromZero = Annotated[int, _integer_from(0)]
PositiveNumber = Annotated[float, _number_from(0, exclusive=True)]
Factor = Annotated[float, _number_from(1, exclusive=False)]
Seconds = Annotated[float, _duration(zero=False)]
SecondsFromZero = Annotated[float, _duration(zero=True)]
Bytes = Annotated[int, read_bytes_size]
ListenAddress = Annotated[Address, read_address]
DialectName = Annotated[str, read_dialect]
Digest = Annotated[bytes, read_digest]
