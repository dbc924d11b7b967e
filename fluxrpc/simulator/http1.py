"""HTTP/1.1 requests from bytes, sans-IO. Small on purpose: what HTTP clients send to an API, nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import unquote

from fluxrpc.simulator.ask import HttpRequest
from fluxrpc.simulator.steps import Head

MAX_HEAD_BYTES = 1 << 18


class BadRequest(Exception):  # named after the HTTP status
    """The peer does not speak HTTP/1.1."""


class RequestReader:
    """Feed bytes, take requests. `wants_continue` is set while a peer waits for `100 Continue`."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: tuple[str, str, dict[str, str]] | None = None
        self._chunks: list[bytes] = []
        self.wants_continue = False

    def feed(self, data: bytes) -> None:
        """Add what the socket gave."""
        self._buffer += data

    def take(self) -> HttpRequest | None:
        """The next whole request, or None until more bytes come. Raises `BadRequest`."""
        if self._head is None and not self._read_head():
            return None
        if self._head is None:  # pragma: no cover  # set by _read_head
            return None
        method, target, headers = self._head
        body = self._read_body(headers)
        if body is None:
            return None
        self._head = None
        path, _, query = target.partition("?")
        return HttpRequest(method=method, target=target, path=unquote(path), query=query, headers=headers, body=body)

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise BadRequest("the head is too large")
            return False
        first, *lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise BadRequest(first)
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        self._head = (words[0], words[1], headers)
        self.wants_continue = headers.get("expect", "").lower() == "100-continue"
        return True

    def _read_body(self, headers: dict[str, str]) -> bytes | None:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._read_chunked()
        length = int(headers.get("content-length") or 0)
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _read_chunked(self) -> bytes | None:
        while True:
            end = self._buffer.find(b"\r\n")
            if end < 0:
                return None
            size = int(bytes(self._buffer[:end]).split(b";")[0], 16)
            if len(self._buffer) < end + 2 + size + 2:
                return None
            chunk = bytes(self._buffer[end + 2 : end + 2 + size])
            del self._buffer[: end + 2 + size + 2]
            if size == 0:
                body, self._chunks = b"".join(self._chunks), []
                return body
            self._chunks.append(chunk)


def head_bytes(head: Head) -> bytes:
    """The status line and headers of an answer, with the framing header."""
    return "".join(_head_lines(head)).encode("latin-1")


def _head_lines(head: Head) -> Iterator[str]:
    try:
        phrase = HTTPStatus(head.status).phrase
    except ValueError:
        phrase = "Unknown"
    yield f"HTTP/1.1 {head.status} {phrase}\r\n"
    for name, value in head.headers:
        yield f"{name}: {value}\r\n"
    if head.length_bytes is None:
        yield "transfer-encoding: chunked\r\n\r\n"
    else:
        yield f"content-length: {head.length_bytes}\r\n\r\n"
