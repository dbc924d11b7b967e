"""The composition root: builds every living part from the settings, once, and ties them together.

Nothing here decides anything about a call. `lifecycle` starts, reloads and stops what is built here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import grpc
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection_pb2_grpc import add_ServerReflectionServicer_to_server

from fluxrpc.clock import Monotonic, monotonic
from fluxrpc.config.schema import MediaSettings, ServerSettings, Settings
from fluxrpc.resilience.retry import BackoffSettings
from fluxrpc.routing.router import Router, RouterSettings
from fluxrpc.routing.service_endpoint import Service
from fluxrpc.server.access import CallLog
from fluxrpc.server.catalog import CatalogBuilder
from fluxrpc.server.credentials import CredentialWatch
from fluxrpc.server.health import Health
from fluxrpc.server.interceptors.auth import Authenticator, Callers
from fluxrpc.server.interceptors.deadline import Deadlines
from fluxrpc.server.interceptors.limits import Limiter
from fluxrpc.server.interceptors.pipeline import Pipeline
from fluxrpc.server.interceptors.telemetry import Telemetry
from fluxrpc.server.router_service import RouterService
from fluxrpc.server.state import ServingState
from fluxrpc.server.tls import server_credentials
from fluxrpc.telemetry.deferred import Deferred, defer
from fluxrpc.telemetry.hooks import Hooks, compose
from fluxrpc.telemetry.logs import AccessLog
from fluxrpc.upstream.media_fetch import FetchSettings
from fluxrpc.upstream.pool import TransportPool
from fluxrpc.v1.router_pb2 import DESCRIPTOR
from fluxrpc.v1.router_pb2_grpc import add_RouterServiceServicer_to_server

SERVICE_NAME = DESCRIPTOR.services_by_name["RouterService"].full_name
METHODS = tuple(f"/{SERVICE_NAME}/{method.name}" for method in DESCRIPTOR.services_by_name["RouterService"].methods)
"""The full names of our RPCs."""

# What gRPC itself refuses it refuses without details, so its limits stand far above ours, which say what is wrong.
_BACKSTOP_FACTOR = 2


@dataclass(slots=True, kw_only=True)
class App:
    """The parts of one server process."""

    state: ServingState
    builder: CatalogBuilder
    transports: TransportPool
    router: Router
    pipeline: Pipeline
    health: Health
    authenticator: Authenticator
    limiter: Limiter
    server: grpc.aio.Server
    credentials: CredentialWatch
    later: Deferred

    def apply(self, settings: Settings, services: Mapping[str, Service]) -> None:
        """Serve new calls from other settings and their `services_of`.

        Running calls go on with what they started with. What belongs to the listener stays as it is.
        """
        catalog = self.builder.build(settings, services)
        self.transports.keep_only(services.keys())
        self.authenticator.callers = Callers(settings.callers)
        self.limiter.max_calls = settings.server.max_concurrent_rpcs
        self.router.configure(router_settings(settings))
        self.credentials.watch(catalog.routes)
        self.state.settings, self.state.catalog = settings, catalog

    async def close(self) -> None:
        """Close what outlives the last call."""
        self.credentials.close()
        await self.transports.close()
        self.later.flush()


def build_app(
    settings: Settings,
    services: Mapping[str, Service],
    *,
    hooks: Hooks,
    access_log: AccessLog,
    clock: Monotonic = monotonic,
) -> App:
    """All parts, wired; nothing listens yet. Called on the event loop that will serve.

    `services` is `services_of(settings)`.
    """
    credentials = CredentialWatch(hooks, clock, asyncio.get_running_loop().call_later)
    later = Deferred()
    builder = CatalogBuilder(clock=clock, hooks=hooks)
    transports = TransportPool()
    router = Router(
        transports, settings=router_settings(settings), hooks=compose(defer(hooks, later), credentials), clock=clock
    )
    state = ServingState(settings=settings, catalog=builder.build(settings, services), clock=clock)
    credentials.watch(state.catalog.routes)
    authenticator = Authenticator(Callers(settings.callers))
    limiter = Limiter(settings.server.max_concurrent_rpcs)
    log = CallLog(access_log, hooks)
    pipeline = Pipeline(
        (
            Telemetry(clock=clock, started=partial(later.put, hooks.call_started), ended=partial(later.put, log.ended)),
            authenticator,
            Deadlines(clock, lambda: state.settings.server),
            limiter,
        ),
        clock=clock,
        max_message_bytes=settings.server.max_message_bytes,
    )
    server = grpc.aio.server(
        options=channel_options(settings.server),
        maximum_concurrent_rpcs=_BACKSTOP_FACTOR * settings.server.max_concurrent_rpcs,
    )
    add_RouterServiceServicer_to_server(RouterService(state, router), pipeline.registering(server))
    return App(
        state=state,
        builder=builder,
        transports=transports,
        router=router,
        pipeline=pipeline,
        health=Health([SERVICE_NAME]),
        authenticator=authenticator,
        limiter=limiter,
        server=server,
        credentials=credentials,
        later=later,
    )


def router_settings(settings: Settings) -> RouterSettings:
    """What of a configuration holds for every request."""
    policy = settings.policy
    return RouterSettings(
        min_attempt_seconds=policy.min_attempt_seconds,
        reply_reserve_seconds=settings.server.reserve_seconds,
        backoff=BackoffSettings(base_seconds=policy.backoff_base_seconds, max_seconds=policy.backoff_max_seconds),
        media=_fetching(settings.media),
    )


def _fetching(media: MediaSettings) -> FetchSettings | None:
    if not media.fetch_urls:
        return None
    return FetchSettings(
        max_bytes=media.max_file_bytes, timeout_seconds=media.timeout_seconds, max_redirects=media.max_redirects
    )


def channel_options(server: ServerSettings) -> list[tuple[str, int]]:
    """GRPC's own knobs (https://grpc.github.io/grpc/core/group__grpc__arg__keys.html), in its units."""
    age = server.connection_age
    options = {
        "grpc.max_receive_message_length": _BACKSTOP_FACTOR * server.max_message_bytes,
        "grpc.max_send_message_length": _BACKSTOP_FACTOR * server.max_message_bytes,
        "grpc.keepalive_time_ms": _ms(server.keepalive.time_seconds),
        "grpc.keepalive_timeout_ms": _ms(server.keepalive.timeout_seconds),
        "grpc.keepalive_permit_without_calls": 1,
        "grpc.http2.min_recv_ping_interval_without_data_ms": _ms(server.keepalive.min_ping_interval_seconds),
        "grpc.so_reuseport": 0,  # a second process on the same port is a mistake, not a sibling
    }
    if age.max_seconds is not None:
        options["grpc.max_connection_age_ms"] = _ms(age.max_seconds)
        options["grpc.max_connection_age_grace_ms"] = _ms(age.grace_seconds)
    return list(options.items())


async def bind(app: App) -> int:
    """Add health, reflection and the port; gives the port.

    Raises:
        CertificateError: certificate and key cannot be used.
        RuntimeError: the address cannot be used.
    """
    settings = app.state.settings.server
    services = app.pipeline.registering(app.server)
    await app.health.attach(services)
    if settings.reflection:
        names = (SERVICE_NAME, "grpc.health.v1.Health", reflection.SERVICE_NAME)
        add_ServerReflectionServicer_to_server(reflection.aio.ReflectionServicer(service_names=names), services)
    address = str(settings.listen)
    if settings.tls is None:
        return app.server.add_insecure_port(address)
    credentials = await asyncio.to_thread(server_credentials, settings.tls)
    return app.server.add_secure_port(address, credentials)


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
