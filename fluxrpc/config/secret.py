"""A secret, and the places that secrets come from.

Not a vault: the value lies in memory in clear. What holds is that it leaves only through `Secret.reveal`: text, format,
pickle and copies of the object never show it, and every complaint about it names the reference instead of the value.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

__all__ = ["MAX_SECRET_BYTES", "ProxyUrl", "Secret", "SecretSource", "SecretUnusable"]

MAX_SECRET_BYTES = 64 * 1024

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Visible ASCII with inner blanks: what a header value may carry everywhere (RFC 9110, section 5.5). Secrets travel as
# header values, and a line break in one would begin a header of its own.
_HEADER_SAFE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


class Secret:
    """A value that is never shown. Equal when the values are equal."""

    __slots__ = ("_value", "source")

    source: str
    """Where it came from, fit to be shown: `${NAME}`, `file /run/secrets/key`."""

    def __init__(self, value: str, source: str = "given") -> None:
        self._value = value
        self.source = source

    def reveal(self) -> str:
        """The value in clear. For the place that sends it, and for nothing else."""
        return self._value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source})"

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not serialised")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a secret is not serialised")


class ProxyUrl(Secret):
    """The URL of a proxy: a secret, because it may hold a password."""

    __slots__ = ()


class SecretUnusable(ValueError):
    """A reference leads to no usable secret; the text names the reference, never the value."""


class SecretSource:
    """Resolves references: `${NAME}` from the environment, files by path.

    `environ` and `read_bytes` (path → content, `OSError` where it cannot) are the only ways out to the machine.
    """

    def __init__(self, environ: Mapping[str, str], read_bytes: Callable[[str], bytes]) -> None:
        self._environ = environ
        self._read_bytes = read_bytes

    def from_reference(self, text: str) -> Secret:
        """The secret behind `${NAME}`.

        Raises:
            SecretUnusable: not a reference, not set, empty, or unfit for a header.
        """
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise SecretUnusable('expected "${NAME}" (environment) or {file: path}; secrets do not stand in this file')
        name = match[1]
        value = self._environ.get(name)
        if value is None:
            raise SecretUnusable(f"the environment variable {name} is not set")
        return _checked(value, f"${{{name}}}")

    def from_file(self, path: str) -> Secret:
        """The content of a file, without one trailing line break.

        Raises:
            SecretUnusable: not readable, too large, not text, empty, or unfit for a header.
        """
        try:
            content = self._read_bytes(path)
        except OSError as error:
            raise SecretUnusable(f"the file {path} cannot be read: {error.strerror or 'unknown error'}") from None
        if len(content) > MAX_SECRET_BYTES:
            raise SecretUnusable(f"the file {path} holds more than {MAX_SECRET_BYTES // 1024} KiB; is it a secret?")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise SecretUnusable(f"the file {path} does not hold UTF-8 text") from None
        return _checked(text.removesuffix("\n").removesuffix("\r"), f"file {path}")


def _checked(value: str, source: str) -> Secret:
    if not value:
        raise SecretUnusable(f"{source} is empty")
    if not _HEADER_SAFE.fullmatch(value):
        raise SecretUnusable(f"{source} holds blanks at an end, line breaks or characters that no HTTP header carries")
    return Secret(value, source)
