"""All pairs of protocols, each with all scenarios, whole and streamed, through the real server.

The caller is the official SDK of its protocol; the provider is the simulator. What reaches the provider must be made of
the request types of the provider's own SDK; what the caller's SDK gathers must mean what the provider said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from fluxrpc.simulator import Simulator
from tests.sdk.callers import CALLERS
from tests.sdk.http_bridge import http_bridge
from tests.sdk.judges import faults_of
from tests.sdk.scenarios import SCENARIOS, Meaning, Scenario
from tests.support.asking import PROTOCOLS
from tests.support.serving import serving

pytestmark = [
    pytest.mark.may_block("the SDKs read certificates and make clients within the loop"),
    # The SDK subclasses aiohttp's session, which aiohttp discourages: nothing of ours.
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]
PLAN = "I will use a tool."
"""What the simulated Cohere says before calls."""
MODELS = {
    "openai": "gpt-x",
    "anthropic": "claude-haiku-4-5",
    "gemini": "gemini-2.5-flash",
    "cohere": "command-a-vision",
    "responses": "gpt-x",
}


def _config(sim: Simulator) -> dict[str, Any]:
    """A service for each protocol that speaks nothing else, and a model `to-…` on each."""
    return {
        "services": {f"only-{protocol}": {"protocols": {protocol: sim.base_url(protocol)}} for protocol in PROTOCOLS},
        "models": {
            f"to-{protocol}": {
                "routes": [{"service": f"only-{protocol}", "model": MODELS[protocol], "credential": "${KEY}"}]
            }
            for protocol in PROTOCOLS
        },
    }


def _expected(scenario: Scenario, caller: str, upstream: str) -> Meaning:
    """What the caller can know: not all protocols can say everything."""
    meaning = scenario.meaning
    if scenario.name == "refusal" and upstream == "gemini":
        # Gemini withholds the text and says so in a message of its own, which its own SDK does not show either.
        return Meaning(text="", finish="stop" if caller == "cohere" else "refusal")  # Cohere has no word for it
    if scenario.meaning.calls and upstream == "cohere":
        return replace(meaning, text=PLAN + meaning.text)
    return meaning


async def _hole(sim: Simulator, url: str, scenario: Scenario, caller: str, upstream: str, *, stream: bool) -> str:
    """What is wrong with one cell; "" for nothing."""
    sim.script(MODELS[upstream], scenario.act)
    seen_before = len(sim.log)
    try:
        got = await CALLERS[caller](url, scenario, f"to-{upstream}", stream=stream)
    except Exception as error:  # noqa: BLE001  # any fault of any SDK is a hole
        return f"{type(error).__name__}: {error}"[:300]
    if len(sim.log) != seen_before + 1:
        return f"{len(sim.log) - seen_before} requests"
    body = sim.log[-1].body
    faults = faults_of(upstream, body)
    if faults:
        return f"request: {faults[:3]}"
    missing = [text for text in scenario.in_request if text not in body.decode()]
    if missing:
        return f"request lacks {missing}"
    expected = _expected(scenario, caller, upstream)
    got = replace(got, text=got.text.replace(f"{PLAN}\n\n", PLAN))  # where plan and answer share one text
    return "" if got == expected else f"{got} instead of {expected}"


@pytest.mark.parametrize("caller", PROTOCOLS)
async def test_matrix(caller: str, sim: Simulator, capsys: pytest.CaptureFixture[str]) -> None:
    holes: dict[tuple[str, str, bool], str] = {}
    async with serving(_config(sim), {"KEY": "sk-test-matrix"}) as server, http_bridge(server.stub) as url:
        for upstream in PROTOCOLS:
            for scenario in SCENARIOS:
                for stream in (False, True):
                    key = (upstream, scenario.name, stream)
                    holes[key] = await _hole(sim, url, scenario, caller, upstream, stream=stream)
    with capsys.disabled():
        _show(caller, holes)
    assert [f"{key}: {hole}" for key, hole in holes.items() if hole] == []


def _show(caller: str, holes: dict[tuple[str, str, bool], str]) -> None:
    table = Table("scenario", *PROTOCOLS, title=f"{caller} SDK calls (whole/stream)", title_justify="left")
    for scenario in SCENARIOS:
        cells = [
            "/".join("[red]hole[/]" if holes[upstream, scenario.name, stream] else "ok" for stream in (False, True))
            for upstream in PROTOCOLS
        ]
        table.add_row(scenario.name, *cells)
    console = Console(width=100)
    console.print()
    console.print(table)
