"""One fuzz target in this process, with libFuzzer's own arguments."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["fluxrpc.protocols", "fluxrpc.sse", "fluxrpc.ir"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    name, *arguments = sys.argv[1:]
    atheris.Setup([sys.argv[0], *arguments], TARGETS[name].run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
