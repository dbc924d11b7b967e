"""The public Python names: what a program may import from `fluxrpc` without any gRPC server."""

from __future__ import annotations

import inspect
import subprocess
import sys

import fluxrpc

WORDS = {
    "Credential",
    "Protocol",
    "Route",
    "RouteDesc",
    "RouteRepository",
    "RouteTable",
    "Router",
    "Service",
    "ServiceEndpoint",
}
# Public besides the words of the domain: each name here was decided, none slipped in.
MORE = {
    "CallOptions",
    "CallerRequest",
    "Result",
    "StreamCompleted",
    "StreamStarted",
    "read_request",
}


def test_the_public_names_are_these() -> None:
    errors = {
        name
        for name in fluxrpc.__all__
        if inspect.isclass(value := getattr(fluxrpc, name)) and issubclass(value, Exception)
    }
    assert set(fluxrpc.__all__) - errors == WORDS | MORE
    assert len(fluxrpc.__all__) == len(set(fluxrpc.__all__))


def test_every_public_name_says_what_it_is() -> None:
    assert [name for name in fluxrpc.__all__ if not getattr(fluxrpc, name).__doc__] == []


def test_the_core_needs_no_grpc() -> None:
    probe = "import sys, fluxrpc; print(sorted({'grpc', 'yaml', 'uvloop', 'click'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
