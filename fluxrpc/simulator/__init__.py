"""A simulated LLM provider: five wire protocols, healthy and faulty on demand, on a loopback port.

It is what the demo and the tests talk to. It is not a model and not a proxy, and it shares no code with the gateway's
own codecs, so that an agreement of the two proves something. Invariant: what a script or a name asks for is what goes
over the wire; nothing is random.

    async with Simulator() as sim:
        sim.script("model-a", [Fault("status", status=500), Ok(text="Hello there")])
        ...  # point a client at sim.base_url("openai")
        await sim.wait_for(lambda: len(sim.seen("model-a")) == 2)

A scripted model meets its acts one by one, the last one for ever. Without a script the *name* of the model decides:
`echo` says the last user text; `sim-` with a clause does what the clause says (`sim-503-once`, `sim-cut-after-3`,
`sim-429-retry-after-1`; `names.CLAUSES` is the whole list), and every other name gives a healthy answer that is derived
from the prompt. A forced tool choice is obeyed. One word is one token.

Any key is accepted but `bad-key` (rejected) and `spent-key` (quota spent); a missing one is rejected too.
"""

from __future__ import annotations

from fluxrpc.simulator.listeners import BlackholeListener, refused_port
from fluxrpc.simulator.log import Seen
from fluxrpc.simulator.script import Act, Fault, Ok, Pace, Shape, ToolCall, Usage
from fluxrpc.simulator.server import Simulator

__all__ = [
    "Act",
    "BlackholeListener",
    "Fault",
    "Ok",
    "Pace",
    "Seen",
    "Shape",
    "Simulator",
    "ToolCall",
    "Usage",
    "refused_port",
]
