"""What of a request the translation and the router are told of, beside its body."""

from __future__ import annotations

import pytest

from fluxrpc.config.schema import Fidelity, PolicySettings
from fluxrpc.server.call import Call
from fluxrpc.server.reading import is_strict, read_execute
from fluxrpc.v1 import router_pb2 as wire
from fluxrpc.v1.router_pb2 import ExecuteRequest
from tests.support.asking import native

STRICT = PolicySettings(fidelity=Fidelity.STRICT)


def call() -> Call:
    return Call(method="/p.S/M", request_id="r", started=0.0)


def test_the_version_that_an_anthropic_caller_speaks_goes_to_its_reader() -> None:
    request = native("anthropic", "m")
    request.native.headers.add(name="Anthropic-Version", value="2026-10-21")
    asked = read_execute(request, call(), PolicySettings())
    assert asked.request.version == "2026-10-21"
    assert asked.options.headers == (("anthropic-version", "2026-10-21"),)


@pytest.mark.parametrize(
    ("asked", "policy", "strict"),
    [
        (wire.FIDELITY_UNSPECIFIED, PolicySettings(), False),
        (wire.FIDELITY_UNSPECIFIED, STRICT, True),
        (wire.FIDELITY_REPORT, STRICT, False),
        (wire.FIDELITY_STRICT, PolicySettings(), True),
    ],
)
def test_the_request_decides_on_fidelity_else_the_configuration(
    asked: wire.Fidelity.ValueType, policy: PolicySettings, strict: bool
) -> None:
    assert is_strict(asked, policy) is strict
    request: ExecuteRequest = native("openai", "m")
    if asked != wire.FIDELITY_UNSPECIFIED:
        request.options.fidelity = asked
    assert read_execute(request, call(), policy).options.strict is strict
