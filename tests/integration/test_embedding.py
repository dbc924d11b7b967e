"""The example of the package's docstring, run as it stands, against a simulated provider."""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections.abc import Coroutine
from typing import Any

import pytest

import fluxrpc
from fluxrpc.simulator import Simulator


async def test_the_example_of_the_docstring_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = next(part for part in (fluxrpc.__doc__ or "").split("\n\n") if part.startswith("    "))
    names: dict[str, Any] = {name: getattr(fluxrpc, name) for name in fluxrpc.__all__}
    async with Simulator() as sim:
        wrapped = "async def example():\n" + textwrap.indent(textwrap.dedent(code), "    ")
        exec(wrapped.replace("http://127.0.0.1:8080/v1", sim.base_url("openai")), names)
        example: Coroutine[Any, Any, None] = names["example"]()
        async with asyncio.timeout(5):
            await example
        [seen] = sim.log
        await sim.wait_for(lambda: not sim.open_connections)
    assert json.loads(seen.body) == {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    assert "input_tokens: 1" in capsys.readouterr().out
