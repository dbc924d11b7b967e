"""The auth stage: who calls. Bearer tokens, known only as SHA-256 digests.

Health checks need no token (probes have none). With no callers configured everybody is anonymous; the configuration
refuses that off loopback unless a flag allows it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from fluxrpc.config.schema import CallerSettings
from fluxrpc.errors import Unauthenticated
from fluxrpc.server.call import Call
from fluxrpc.server.interceptors.stage import Metadata, Stage

_PREFIX = "bearer "
_EXEMPT = "/grpc.health.v1.Health/"


class Callers:
    """Callers by the digests of their tokens. Replaced as a whole at a reload."""

    def __init__(self, callers: Mapping[str, CallerSettings]) -> None:
        self._names = {digest: caller.name for caller in callers.values() for digest in caller.token_digests}

    @property
    def anonymous(self) -> bool:
        """Whether no tokens are configured, so that everybody may call."""
        return not self._names

    def identify(self, token: str) -> str | None:
        """The caller with that token.

        What the time of the look-up could tell is about digests, which nobody can steer without breaking SHA-256.
        """
        return self._names.get(hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest())


class Authenticator(Stage):
    """Knows the callers of the running configuration, and whom each call comes from."""

    def __init__(self, callers: Callers) -> None:
        self.callers = callers

    def concerns(self, method: str) -> bool:
        """All but health checks."""
        return not method.startswith(_EXEMPT)

    def enter(self, call: Call, context: Any, metadata: Metadata) -> None:  # noqa: ARG002  # the stage's shape
        """Identify the caller before anything else happens."""
        if not self.callers.anonymous:
            call.caller = _require(self.callers, metadata.get("authorization"))


def _require(callers: Callers, authorization: str | bytes | None) -> str:
    if authorization is None:
        raise Unauthenticated("a bearer token is required: send authorization: Bearer <token>")
    if not isinstance(authorization, str) or authorization[: len(_PREFIX)].lower() != _PREFIX:
        raise Unauthenticated("authorization must be 'Bearer <token>'")
    name = callers.identify(authorization[len(_PREFIX) :].strip())
    if name is None:
        raise Unauthenticated("unknown token")
    return name
