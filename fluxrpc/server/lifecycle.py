"""The life of a server process: start, reload, drain, stop, each as readable steps.

SIGTERM and SIGINT drain; a second one ends at once. SIGHUP reloads the configuration.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence

import structlog

from fluxrpc.clock import Monotonic, monotonic
from fluxrpc.config.watcher import Reloader, needs_restart
from fluxrpc.errors import ConfigError, FluxError
from fluxrpc.server.app import METHODS, App, bind, build_app
from fluxrpc.server.catalog import services_of
from fluxrpc.server.tls import CertificateError
from fluxrpc.telemetry.door_log import DoorLog
from fluxrpc.telemetry.hooks import Hooks, compose
from fluxrpc.telemetry.logs import AccessLog, Redaction
from fluxrpc.telemetry.metrics import Metrics, MetricsListener, start_listener

_log = structlog.get_logger("fluxrpc.server")

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StartError(FluxError):
    """The server cannot start; the message is one clear line for the operator."""

    reason = "CANNOT_START"


class Server:
    """One server process. `run` returns when it has stopped."""

    app: App
    """What serves, from the moment that `ready` is called."""

    def __init__(
        self,
        reloader: Reloader,
        access_log: AccessLog,
        redaction: Redaction,
        *,
        observers: Sequence[Hooks] = (),
        clock: Monotonic = monotonic,
    ) -> None:
        self._reloader = reloader
        self._access_log = access_log
        self._redaction = redaction
        self._observers = tuple(observers)
        self._clock = clock
        self._metrics = Metrics()
        self._stop_signals = 0
        self._stopping = asyncio.Event()
        self._ending = asyncio.Event()
        self._reloading: asyncio.Task[None] | None = None
        self.port = 0
        """Where it listens, once started."""
        self.metrics_port = 0
        """Where metrics are served; 0 for nowhere."""

    async def run(self, ready: Callable[[Server], None] | None = None) -> None:
        """Serve until told to stop. `ready` is called once calls are welcome.

        Raises:
            StartError: an address cannot be used.
        """
        app, listener = await self._start()
        try:
            if ready is not None:
                ready(self)
            await self._stopping.wait()
        finally:
            await self._drain(app, listener)
            self._remove_signals()

    def stop(self) -> None:
        """Drain; asked a second time, end at once."""
        self._stop_signals += 1
        self._stopping.set()
        if self._stop_signals > 1:
            self._ending.set()

    async def _start(self) -> tuple[App, MetricsListener | None]:
        settings = self._reloader.state.settings
        try:
            services = await asyncio.to_thread(services_of, settings)
        except ConfigError as error:
            raise StartError(str(error)) from error
        self._configure_metrics()
        listener = self._listen_metrics()
        hooks = compose(self._metrics, DoorLog(), *self._observers)
        app = self.app = build_app(settings, services, hooks=hooks, access_log=self._access_log, clock=self._clock)
        try:
            await self._listen(app)
        except StartError:
            if listener is not None:
                await asyncio.to_thread(listener.close)
            await app.close()
            raise
        # Before anyone can know that it serves: who sees it ready may signal it.
        self._install_signals()
        await app.health.serve()
        _log.info("serving", address=str(settings.server.listen), port=self.port, models=len(app.state.catalog.models))
        return app, listener

    async def _listen(self, app: App) -> None:
        address = app.state.settings.server.listen
        try:
            self.port = await bind(app)
            await app.server.start()
        except CertificateError as error:
            raise StartError(f"cannot use the certificate: {error}") from error
        except RuntimeError as error:
            raise StartError(f"cannot listen on {address}: the address is in use or not ours") from error

    def _listen_metrics(self) -> MetricsListener | None:
        address = self._reloader.state.settings.metrics.listen
        if address is None:
            return None
        try:
            listener = start_listener(self._metrics.registry, address.host, address.port)
        except OSError as error:
            raise StartError(f"cannot serve metrics on {address}: {error.strerror}") from error
        self.metrics_port = listener.port
        return listener

    def _configure_metrics(self) -> None:
        state = self._reloader.state
        settings = state.settings
        self._metrics.configure(
            models=settings.models.keys(),
            routes=[route.name for model in settings.models.values() for route in model.routes],
            services=settings.services.keys(),
            methods=METHODS,
        )
        self._metrics.config_loaded(state.generation, state.loaded_at)

    def _install_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _STOP_SIGNALS:
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self._begin_reload)

    def _remove_signals(self) -> None:
        for number in (*_STOP_SIGNALS, signal.SIGHUP):
            asyncio.get_running_loop().remove_signal_handler(number)

    def _begin_reload(self) -> None:
        # One at a time; a signal during a reload asks for one more, so that the latest file always wins.
        previous = self._reloading
        self._reloading = asyncio.get_running_loop().create_task(self._reload_after(previous))

    async def _reload_after(self, previous: asyncio.Task[None] | None) -> None:
        if previous is not None:
            await asyncio.wait([previous])
        await self.reload()

    async def reload(self) -> bool:
        """Read the configuration again; the last good one stays where that fails."""
        old = self.app.state.settings
        accepted = await asyncio.to_thread(self._reloader.reload)
        state = self._reloader.state
        if not accepted:
            return self._refuse(str(state.last_fault))
        try:
            services = await asyncio.to_thread(services_of, state.settings)
        except ConfigError as error:
            return self._refuse(str(error))
        # Running calls may still use the secrets of before.
        self._redaction.know(secret.reveal() for settings in (old, state.settings) for secret in settings.secrets())
        self.app.apply(state.settings, services)
        self._configure_metrics()
        _log.info("reloaded", generation=state.generation, needs_restart=needs_restart(old, state.settings))
        return True

    def _refuse(self, faults: str) -> bool:
        self._metrics.config_refused()
        _log.error("reload_refused", faults=faults.splitlines())
        return False

    async def _drain(self, app: App, listener: MetricsListener | None) -> None:
        settings = app.state.settings.server
        if self._reloading is not None:
            await asyncio.wait([self._reloading])
        _log.info("draining", delay_seconds=settings.drain_delay_seconds, grace_seconds=settings.grace_seconds)
        # 1. Load balancers look elsewhere.
        await app.health.drain()
        # 2. They need a moment to notice.
        await self._pause(settings.drain_delay_seconds)
        # 3. New calls are refused, running ones may finish.
        await self._stop_server(app, settings.grace_seconds)
        # 4. No call runs any more: nothing needs the providers' connections.
        await app.close()
        self._access_log.flush()
        # 5. The last figures can still be scraped until here.
        if listener is not None:
            await asyncio.to_thread(listener.close)
        _log.info("stopped")

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._ending.wait()
        except TimeoutError:
            return

    async def _stop_server(self, app: App, grace_seconds: float) -> None:
        stopping = asyncio.ensure_future(app.server.stop(grace_seconds))
        ending = asyncio.ensure_future(self._ending.wait())
        await asyncio.wait([stopping, ending], return_when=asyncio.FIRST_COMPLETED)
        if not stopping.done():
            await app.server.stop(0)
        ending.cancel()
        await stopping
