"""The end-to-end run: a real LLM behind fluxrpc, called through the generated Python and Go clients.

It asks in every protocol that the LLM speaks, as a typed message, and in protocols that have to be translated; hangs up
in the middle of a stream, kills the LLM in the middle of another, and starts it again. Prints a transcript, and exits 1
where a check failed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
import urllib.request

import grpc

from fluxrpc_client.v1 import BLAME_NOBODY, OUTCOME_OK, Attempt, ExecuteRequest, ExecuteResponse, RouteInfo, Usage
from tests.e2e.calls import ANSWER, LONG_TOKENS, NATIVE_CALLS, PROMPT, NativeCall, frames
from tests.e2e.client import Client, Stream, connected, native_request, read_refusal, typed_request
from tests.e2e.crossed import check_crossed
from tests.e2e.go_client import check_go_client
from tests.e2e.llm import MODEL, ROOT, Llm, LlmError, running_llm
from tests.e2e.service import ALIAS, RECOVERY_SECONDS, SERVICE, ServiceError, running_service
from tests.e2e.transcript import CheckFailed, Transcript, expect, expect_equal

FOLDER = ROOT / "build" / "e2e"
MESSAGES_BEFORE_END = 6
HANG_UP_SECONDS = 2
CLOSED_AGAIN_SECONDS = 15


def judge_answer(text: str, route: RouteInfo, usage: Usage, attempts: list[Attempt]) -> str:
    """Raises CheckFailed where an answer is not what the LLM says to this prompt; describes it otherwise."""
    expect(ANSWER in text, f"{ANSWER!r} is not in {text!r}")
    expect_equal(route.service, SERVICE, "the route's service")
    expect_equal(route.requested_model, ALIAS, "the requested model")
    expect_equal(route.upstream_model, MODEL, "the upstream's model")
    expect(usage.input_tokens > 0 and usage.output_tokens > 0, f"usage is {usage}")
    expect_equal([attempt.outcome for attempt in attempts], [OUTCOME_OK], "the outcomes")
    expect_equal([attempt.blame for attempt in attempts], [BLAME_NOBODY], "the blames")
    return f"{text.strip()!r}; route {route.route}; {usage.input_tokens} tokens in, {usage.output_tokens} out"


def judge_whole(answer: ExecuteResponse, text: str) -> str:
    expect(answer.request_id, "there is no request id")
    return judge_answer(text, answer.route, answer.usage, list(answer.attempts))


def judge_stream(got: Stream, text: str, middle: str) -> str:
    """The same of a stream, and its grammar."""
    expect(got.started is not None and got.completed is not None, f"the stream was {got.kinds}")
    if got.started is None or got.completed is None:
        raise CheckFailed("unreachable")
    expect_equal((got.kinds[0], got.kinds[-1]), ("started", "completed"), "the frame of the stream")
    expect_equal(set(got.kinds[1:-1]), {middle}, "what stands between")
    expect(len(got.kinds) >= MESSAGES_BEFORE_END, f"{len(got.kinds)} messages are no stream")
    expect_equal(len(got.completed.finishes), 1, "the number of finishes")
    return judge_answer(text, got.started.route, got.completed.usage, list(got.completed.attempts))


def check_python_client(transcript: Transcript, client: Client) -> None:
    """Execute and ExecuteStream in each protocol, then as a typed message."""
    for call in NATIVE_CALLS:
        with transcript.check(f"Execute, {call.name}", grpc.RpcError):
            answer = client.execute(native_request(call))
            body = json.loads(answer.native.body)
            detail = judge_whole(answer, call.text_of_answer(body))
            transcript.note(detail)
        with transcript.check(f"ExecuteStream, {call.name}", grpc.RpcError):
            transcript.note(native_stream(client, call))
    with transcript.check("Execute, typed message", grpc.RpcError):
        answer = client.execute(typed_request())
        text = "".join(part.text for part in answer.message.choices[0].parts)
        transcript.note(judge_whole(answer, text))
    with transcript.check("ExecuteStream, typed message", grpc.RpcError):
        got = client.stream(typed_request())
        transcript.note(judge_stream(got, got.text, "events"))


def native_stream(client: Client, call: NativeCall) -> str:
    got = client.stream(native_request(call))
    last = got.native.decode().rstrip("\n").rpartition("\n\n")[2]
    expect(call.last_frame in last, f"the last frame is {last!r}, not {call.last_frame}")
    text = "".join(call.text_of_frame(frame) for frame in frames(got.native))
    return judge_stream(got, text, "native")


def long_request() -> ExecuteRequest:
    """A stream that goes on for many seconds if nobody ends it; `ignore_eos` is llama.cpp's own field."""
    return native_request(NATIVE_CALLS[0], max_tokens=LONG_TOKENS, ignore_eos=True)


def check_hang_up(transcript: Transcript, client: Client, llm: Llm) -> None:
    """A caller who leaves stops the LLM."""
    with transcript.check("a caller hangs up in mid-stream, and the LLM stops working", grpc.RpcError):
        client.stream(long_request(), after=lambda got: len(got.kinds) < MESSAGES_BEFORE_END)
        left = time.monotonic()
        while busy_slots(llm):
            expect(time.monotonic() - left < HANG_UP_SECONDS, f"it still worked after {HANG_UP_SECONDS} s")
            time.sleep(0.02)
        transcript.note(f"idle {time.monotonic() - left:.2f} s after the caller left")


def busy_slots(llm: Llm) -> int:
    with urllib.request.urlopen(f"{llm.address}/slots", timeout=5) as answer:
        return sum(bool(slot["is_processing"]) for slot in json.load(answer))


def check_death(transcript: Transcript, client: Client, llm: Llm) -> None:
    """The LLM dies in mid-stream: the break is reported, then its door is shut."""
    got = Stream()

    def kill_in_the_middle(now: Stream) -> bool:
        nonlocal got
        got = now
        if len(now.kinds) == MESSAGES_BEFORE_END:
            llm.kill()
        return True

    with transcript.check("the LLM is killed in mid-stream, and the break is reported"):
        try:
            client.stream(long_request(), after=kill_in_the_middle)
        except grpc.RpcError as error:
            refusal = read_refusal(error)
            transcript.note(f"after {len(got.kinds)} messages: {refusal}")
            expect_equal((refusal.code, refusal.reason), ("UNAVAILABLE", "STREAM_INTERRUPTED"), "the status")
            expect(got.completed is None, "`completed` came")
            expect(refusal.detail.attempts, "the details name no attempt")
        else:
            raise CheckFailed("the stream ended with OK")
    with transcript.check("the next call finds nobody there"):
        refusal = client.refusal(native_request(NATIVE_CALLS[0]))
        transcript.note(str(refusal))
        expect_equal(refusal.code, "UNAVAILABLE", "the status")
    with transcript.check("the breaker is open: the call after it is refused at once", grpc.RpcError):
        began = time.monotonic()
        refusal = client.refusal(native_request(NATIVE_CALLS[0]))
        transcript.note(f"{refusal} ({(time.monotonic() - began) * 1000:.0f} ms)")
        expect_equal((refusal.code, refusal.reason), ("UNAVAILABLE", "CIRCUIT_OPEN"), "the status")
        expect(refusal.retry_seconds is not None, "it does not say when to come back")
        expect_equal(client.available_routes(), 0, "the number of available routes")


def check_recovery(transcript: Transcript, client: Client, llm: Llm) -> None:
    """The LLM comes back on its port, and the breaker closes."""
    with transcript.check("the LLM is started again", LlmError):
        transcript.note(f"ready in {llm.start():.1f} s, on the same port")
    with transcript.check("the breaker lets a probe through and closes", grpc.RpcError):
        began = time.monotonic()
        refused = 0
        while True:
            try:
                client.execute(native_request(NATIVE_CALLS[0]))
                break
            except grpc.RpcError as error:
                refused += 1
                late = time.monotonic() - began > CLOSED_AGAIN_SECONDS
                expect(not late, f"still refused: {read_refusal(error)}")
                time.sleep(0.1)
        transcript.note(
            f"answered {time.monotonic() - began:.1f} s after the restart, {refused} calls refused before "
            f"(recovery {RECOVERY_SECONDS} s)"
        )
        expect_equal(client.available_routes(), 1, "the number of available routes")
    with transcript.check("a stream runs to its end again", grpc.RpcError):
        transcript.note(native_stream(client, NATIVE_CALLS[0]))


def run(transcript: Transcript) -> None:
    with running_llm(FOLDER / "llm.log") as llm:
        transcript.heading(f"The LLM: {MODEL} at {llm.address}")
        with running_service(llm, FOLDER) as service, connected(service) as client:
            transcript.heading(f"fluxrpc at {service.target}; the prompt is {PROMPT!r}")
            transcript.heading("Through the Python client")
            check_python_client(transcript, client)
            transcript.heading("From protocols that the LLM is not asked in")
            check_crossed(transcript, client)
            transcript.heading("Through the Go client")
            check_go_client(transcript, service, FOLDER)
            transcript.heading("When things go wrong")
            check_hang_up(transcript, client, llm)
            check_death(transcript, client, llm)
            check_recovery(transcript, client, llm)


def main() -> int:
    argparse.ArgumentParser(prog="python -m tests.e2e", description=__doc__).parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    transcript = Transcript()
    try:
        run(transcript)
    except (LlmError, ServiceError) as error:
        transcript.record("everything starts", passed=False, seconds=0, detail=str(error))
    return transcript.close()


if __name__ == "__main__":
    sys.exit(main())
