"""The simulator itself: a listening socket, the scripts, and the log. See the package for how it is used."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from fluxrpc.clock import Monotonic, WallClock, monotonic, wall_clock
from fluxrpc.simulator.ask import Ask, HttpRequest, Problem, Rejected, check_types
from fluxrpc.simulator.connection import Connection
from fluxrpc.simulator.dialects import DIALECTS
from fluxrpc.simulator.dialects.base import Dialect
from fluxrpc.simulator.faults import play, play_error_body
from fluxrpc.simulator.frames import dump
from fluxrpc.simulator.log import DEFAULT_TIMEOUT_SECONDS, Log, Seen
from fluxrpc.simulator.names import act_of_name
from fluxrpc.simulator.scene import Scene
from fluxrpc.simulator.script import Act, Fault, Script
from fluxrpc.simulator.steps import Data, Finish, Head, Step

_NOTHING = Ask(model="", stream=False, body={}, prompt="", input_tokens=0)


class Simulator:
    """LLM providers on one port, in all five protocols. Use as an async context manager, in one event loop.

    It may be entered again after it was left: same port, scripts and log. So a host goes down and comes back.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        ssl_context: ssl.SSLContext | None = None,
        clock: Monotonic = monotonic,
        wall: WallClock = wall_clock,
    ) -> None:
        self.clock = clock
        self.book = Log()
        self._wall = wall
        self._host = host
        self._port = port
        self._ssl_context = ssl_context
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._all_lost = asyncio.Event()
        self._all_lost.set()
        self._connection_count = 0
        self._scripts: dict[str, Script] = {}
        self._requests_by_model: Counter[str] = Counter()
        self._serial = 0

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connect, self._host, self._port, ssl=self._ssl_context)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.abort()
        await self._server.wait_closed()
        await self._all_lost.wait()
        self._server = None

    @property
    def port(self) -> int:
        """The port, once the simulator is entered."""
        return self._port

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        scheme = "http" if self._ssl_context is None else "https"
        return f"{scheme}://{self._host}:{self._port}"

    def base_url(self, protocol: str) -> str:
        """The base URL to configure for a protocol. Raises `KeyError` for an unknown one."""
        return self.url + DIALECTS[protocol].base_path

    @property
    def log(self) -> list[Seen]:
        """Every request so far."""
        return self.book.entries

    def seen(self, model: str) -> list[Seen]:
        """The requests for a model."""
        return [seen for seen in self.log if seen.model == model]

    @property
    def open_connections(self) -> int:
        """TCP connections open at this moment, idle ones too."""
        return len(self._connections)

    def script(self, model: str, acts: Act | Sequence[Act]) -> None:
        """Say what the next requests for the model meet: one act each, the last one for ever."""
        self._scripts[model] = Script(acts if isinstance(acts, Act) else list(acts))

    def clear_script(self, model: str) -> None:
        """Back to what the name says."""
        self._scripts.pop(model, None)

    async def wait_for(
        self,
        condition: Callable[[], object],
        timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109  # the message names the log
    ) -> None:
        """Return as soon as the condition on the log holds; `TimeoutError` with the log in words otherwise."""
        await self.book.wait_for(condition, timeout_seconds=timeout)

    def _connect(self) -> Connection:
        self._connection_count += 1
        return Connection(self, self._connection_count)

    def opened(self, connection: Connection) -> None:
        """A connection stands; called by itself."""
        self._connections.add(connection)
        self._all_lost.clear()

    def lost(self, connection: Connection) -> None:
        """It is gone; called by itself."""
        self._connections.discard(connection)
        if not self._connections:
            self._all_lost.set()
        self.book.changed()

    def begin(self, request: HttpRequest, connection: Connection) -> tuple[Seen, Iterator[Step]]:
        """Log the request and choose the steps of its answer; called by the connection."""
        dialect = next((each for each in DIALECTS.values() if each.path.fullmatch(request.path)), None)
        seen = Seen(
            protocol=dialect.name if dialect else "",
            model="",
            method=request.method,
            path=request.path,
            query=request.query,
            headers=dict(request.headers),
            body=request.body,
            arrived=self.clock(),
            connection_id=connection.identity,
            request_of_connection=connection.requests,
        )
        self.log.append(seen)
        self._serial += 1
        steps = self._answer(dialect, request, seen)
        self.book.changed()
        return seen, steps

    def _answer(self, dialect: Dialect | None, request: HttpRequest, seen: Seen) -> Iterator[Step]:
        if dialect is None or request.method != "POST":
            return _not_found(request)
        try:
            ask = check_types(dialect.read(request))
        except Rejected as rejected:
            return _say_no(self._scene(dialect, _NOTHING, seen), rejected.problem)
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            problem = Problem(word="bad_request", message=f"The request has the wrong shape: {exc!r}")
            return _say_no(self._scene(dialect, _NOTHING, seen), problem)
        seen.model = ask.model
        return play(self._scene(dialect, ask, seen), self._act(ask.model))

    def _act(self, model: str) -> Act:
        earlier = self._requests_by_model[model]
        self._requests_by_model[model] += 1
        if script := self._scripts.get(model):
            return script.take()
        return act_of_name(model, earlier_requests=earlier)

    def _scene(self, dialect: Dialect, ask: Ask, seen: Seen) -> Scene:
        return Scene(
            dialect=dialect,
            ask=ask,
            serial=self._serial,
            now=self._wall(),
            is_reused=seen.request_of_connection > 1,
        )


def _say_no(scene: Scene, problem: Problem) -> Iterator[Step]:
    return play_error_body(scene, Fault("status"), problem, status=scene.dialect.status(problem))


def _not_found(request: HttpRequest) -> Iterator[Step]:
    body = dump({"error": {"message": f"Invalid URL ({request.method} {request.path})"}}).encode()
    yield Head(status=404, headers=(("content-type", "application/json"),), length_bytes=len(body))
    yield Data(body)
    yield Finish()
