from __future__ import annotations

import pytest
from hypothesis import given, settings

from fluxrpc.ir.accumulate import accumulate
from fluxrpc.ir.events import events_of
from fluxrpc.v1.part_pb2 import Part, Reasoning, TokenLogprob, ToolCall
from fluxrpc.v1.response_pb2 import FINISH_REASON_STOP, Choice, Finish, MessageResponse
from fluxrpc.v1.usage_pb2 import Usage
from tests.support.ir_answers import answers


@given(answers())
@settings(max_examples=150, deadline=None)
def test_events_gather_to_what_they_were_made_of(response: MessageResponse) -> None:
    assert accumulate(events_of(response)) == response


def test_an_answer_as_events() -> None:
    parts = [
        Part(reasoning=Reasoning(text="Hm", summaries=["a", "b"])),
        Part(text="Hi", logprobs=[TokenLogprob(token="Hi")]),
        Part(tool_call=ToolCall(id="c", name="f", arguments_json="{}")),
        Part(text=""),
    ]
    finish = Finish(reason=FINISH_REASON_STOP)
    response = MessageResponse(id="r", choices=[Choice(parts=parts, finish=finish)], usage=Usage(output_tokens=1))
    kinds = [event.WhichOneof("event") for event in events_of(response)]
    part = ["part_start", "part_delta", "part_stop"]
    assert kinds == [
        "response_start",
        *["part_start", *["part_delta"] * 3, "part_stop"],
        *part,
        *part,
        *["part_start", "part_stop"],
        "finish",
        "usage",
    ]


@pytest.mark.parametrize("call", [ToolCall(arguments_json=""), ToolCall(custom_text=""), ToolCall()])
def test_which_input_a_call_has_stays_known(call: ToolCall) -> None:
    response = MessageResponse(choices=[Choice(parts=[Part(tool_call=call)], finish=Finish())])
    assert accumulate(events_of(response)) == response
