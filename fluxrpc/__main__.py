"""`python -m fluxrpc` is the `fluxrpc` command."""

from __future__ import annotations

from fluxrpc.cli import main

if __name__ == "__main__":
    main(prog_name="fluxrpc")
