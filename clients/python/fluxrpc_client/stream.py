"""Streamed answers. Leaving the `with` block ends the call, so that nobody generates what nobody reads.

That is why a stream is a context manager: `break` out of a gRPC call's own iterator does not cancel the call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from grpc.aio import EOF, UnaryStreamCall

from fluxrpc_client.progress import Progress, texts_of
from fluxrpc_client.status import typed_errors
from fluxrpc_client.v1 import Completed, ExecuteRequest, ExecuteStreamResponse, RouteInfo, Started

__all__ = ["Stream", "SyncStream"]

AsyncCall = UnaryStreamCall[ExecuteRequest, ExecuteStreamResponse]
SyncCall = Any  # iterator and call in one: grpc's stubs have no such type

CallT = TypeVar("CallT")


class _Opened(Generic[CallT]):
    """What both kinds of stream are: a call that begins when entered, and its progress."""

    def __init__(self, open_call: Callable[[], CallT]) -> None:
        self._open_call = open_call
        self._opened: CallT | None = None
        self._progress = Progress()

    def _open(self) -> None:
        if self._opened is not None:
            raise RuntimeError("a stream is one call: ask for another one")
        self._opened = self._open_call()

    @property
    def _call(self) -> CallT:
        if self._opened is None:
            raise RuntimeError("enter the stream first: `async with client.stream(...) as stream`, or `with`")
        return self._opened

    @property
    def started(self) -> Started | None:
        """The head of the answer, once its first message was read."""
        return self._progress.started

    @property
    def completed(self) -> Completed | None:
        """The end of the answer: usage, finishes, attempts. None while the answer is not complete."""
        return self._progress.completed

    @property
    def route(self) -> RouteInfo | None:
        """The route that answers now; it changes where a broken stream is recovered."""
        return self._progress.route

    @property
    def request_id(self) -> str:
        """Id of the call as in the server's logs, once started."""
        return self.started.request_id if self.started else ""


class Stream(_Opened[AsyncCall]):
    """A streamed answer: `async with` it, then iterate its messages or its `text()`.

    Iterating raises a `FluxError` where the call fails, and `IncompleteStream` where it ends without `completed`.
    """

    async def __aenter__(self) -> Self:
        self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def cancel(self) -> None:
        """End the call; without effect once it has ended."""
        self._call.cancel()

    async def __aiter__(self) -> AsyncIterator[ExecuteStreamResponse]:
        with typed_errors():
            while (message := await self._call.read()) is not EOF:
                assert isinstance(message, ExecuteStreamResponse)  # noqa: S101  # what else it can be is EOF
                self._progress.take(message)
                yield message
        self._progress.end()

    async def text(self, *, choice_index: int = 0) -> AsyncIterator[str]:
        """The text of a typed answer, piece by piece, for one choice.

        Raises as iterating does, and `AnswerRestarted` where a recovered stream would take text back.
        """
        given = False
        async for message in self:
            self._progress.refuse_restart(message, given=given)
            for text in texts_of(message, choice_index):
                given = True
                yield text


class SyncStream(_Opened[SyncCall]):
    """`Stream` for threads: `with` it, then iterate its messages or its `text()`."""

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def cancel(self) -> None:
        """End the call; without effect once it has ended. May be called from another thread."""
        self._call.cancel()

    def __iter__(self) -> Iterator[ExecuteStreamResponse]:
        with typed_errors():
            for message in self._call:
                self._progress.take(message)
                yield message
        self._progress.end()

    def text(self, *, choice_index: int = 0) -> Iterator[str]:
        """The text of a typed answer, piece by piece, for one choice. Raises as `Stream.text` does."""
        given = False
        for message in self:
            self._progress.refuse_restart(message, given=given)
            for text in texts_of(message, choice_index):
                given = True
                yield text
