"""`fluxrpc call` against the real server: answers, failures, and an interrupted call."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme

from fluxrpc.cli.caller import Where, native_request, send, typed_request
from fluxrpc.cli.output import ForMachines, ForPeople
from fluxrpc.simulator import Fault, Ok, Simulator
from fluxrpc.v1.router_pb2 import ExecuteRequest, ExecuteStreamResponse, Started
from fluxrpc.v1.router_pb2_grpc import RouterServiceServicer, add_RouterServiceServicer_to_server
from tests.support.asking import body_of, config_for
from tests.support.command import run, start
from tests.support.serving import Serving, serving

TEXT = "Hello from afar"
MODELS: dict[str, list[dict[str, Any]]] = {
    "chat": [{"model": "broken", "priority": 0}, {"model": "good", "priority": 10}],
    "cut": [{"model": "cut"}],
    "silent": [{"model": "sim-stall-after-1"}],
}


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator() as simulator:
        simulator.script("broken", Fault("model_not_found"))
        simulator.script("good", Ok(text=TEXT))
        simulator.script("cut", Fault("cut", after_events=1, how="reset", answer=Ok(text=TEXT)))
        yield simulator


@pytest.fixture
async def server(sim: Simulator) -> AsyncIterator[Serving]:
    async with serving(config_for(sim, MODELS), {"KEY": "sk-test"}) as running:
        yield running


async def ask(
    server: Serving, request: ExecuteRequest, *, stream: bool = False, as_json: bool = False, seconds: float = 20
) -> bool:
    output = ForMachines() if as_json else ForPeople(server.target)
    return await send(Where(target=server.target), request, output, stream=stream, timeout_seconds=seconds)


@pytest.mark.parametrize("stream", [False, True])
async def test_the_answer_goes_to_stdout_and_its_history_to_stderr(
    server: Serving, capsys: pytest.CaptureFixture[str], stream: bool
) -> None:
    assert await ask(server, typed_request("chat", "Hello"), stream=stream)
    out, err = capsys.readouterr()
    assert out == TEXT + "\n"
    assert [line.split()[:2] for line in err.splitlines()] == [
        ["route", "chat/sim/good"],
        ["attempt", "outcome"],
        ["chat/sim/broken", "model"],
        ["chat/sim/good", "ok"],
        ["usage", "input"],
    ]


async def test_a_native_answer_is_printed_as_it_came(
    server: Serving, sim: Simulator, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    body = json.dumps(body_of("anthropic")).encode()
    assert await ask(server, native_request("chat", "anthropic", body))
    answer = json.loads(capfdbinary.readouterr().out)
    assert answer["content"] == [{"type": "text", "text": TEXT}]
    assert await ask(server, native_request("chat", "anthropic", body), stream=True)
    frames = capfdbinary.readouterr().out
    assert frames.startswith(b"event: message_start\n")
    assert b"event: message_stop\n" in frames


@pytest.mark.parametrize("stream", [False, True])
async def test_machines_get_protobuf_json(server: Serving, capsys: pytest.CaptureFixture[str], stream: bool) -> None:
    assert await ask(server, typed_request("chat", "Hello"), stream=stream, as_json=True)
    out, err = capsys.readouterr()
    objects = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    if stream:
        assert list(objects[0]) == ["started"]
        assert list(objects[-1]) == ["completed"]
    else:
        assert objects[0]["message"]["choices"][0]["parts"] == [{"text": TEXT}]
        assert objects[0]["route"]["route"] == "chat/sim/good"


async def test_a_cut_stream_says_that_it_is_not_whole(server: Serving, capsys: pytest.CaptureFixture[str]) -> None:
    assert not await ask(server, typed_request("cut", "Hello"), stream=True)
    out, err = capsys.readouterr()
    assert out == "Hello\n"
    assert "UNAVAILABLE STREAM_INTERRUPTED" in err
    assert "cut/sim/cut" in err
    assert "not the whole answer" in err


async def test_bad_fields_are_named(server: Serving, capsys: pytest.CaptureFixture[str]) -> None:
    assert not await ask(server, native_request("chat", "openai", b"{"))
    err = capsys.readouterr().err
    assert err.startswith("INVALID_ARGUMENT INVALID_REQUEST: ")
    assert "the body is not JSON" in err
    assert "\nrequest " in err
    assert "what now  Mend the request" in err


async def test_machines_get_failures_too(server: Serving, capsys: pytest.CaptureFixture[str]) -> None:
    assert not await ask(server, typed_request("chta", "Hello"), as_json=True)
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert error["code"] == "NOT_FOUND"
    assert error["details"][0]["reason"] == "UNKNOWN_MODEL"
    assert error["details"][0]["metadata"]["nearest"] == "chat"
    assert err == ""


async def test_the_deadline_is_the_callers(server: Serving, capsys: pytest.CaptureFixture[str]) -> None:
    assert not await ask(server, typed_request("silent", "Hello"), stream=True, seconds=0.5)
    assert "DEADLINE_EXCEEDED" in capsys.readouterr().err


async def test_nobody_there_is_said_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    where = Where(target="127.0.0.1:1")
    output = ForPeople(where.target)
    assert not await send(where, typed_request("chat", "Hello"), output, stream=False, timeout_seconds=5)
    err = capsys.readouterr().err
    assert err.startswith("UNAVAILABLE: ")
    assert "Does a server listen at 127.0.0.1:1" in err


async def test_a_stream_without_its_end_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    router = grpc.aio.server()
    add_RouterServiceServicer_to_server(Forgetful(), router)  # type: ignore[abstract]  # the one method is enough
    where = Where(target=f"127.0.0.1:{router.add_insecure_port('127.0.0.1:0')}")
    await router.start()
    output = ForPeople(where.target)
    try:
        assert not await send(where, typed_request("chat", "Hello"), output, stream=True, timeout_seconds=20)
    finally:
        await router.stop(0)
    assert "UNAVAILABLE STREAM_INCOMPLETE" in capsys.readouterr().err


class Forgetful(RouterServiceServicer):
    """Ends its streams with OK, and without `completed`."""

    async def ExecuteStream(  # noqa: N802  # gRPC's name
        self, request: Any, context: Any
    ) -> AsyncIterator[ExecuteStreamResponse]:
        yield ExecuteStreamResponse(started=Started(request_id="id"))


async def test_tls_and_a_token(sim: Simulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    certificate.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    config = config_for(
        sim,
        MODELS,
        server={"tls": {"cert": "cert.pem", "key": "key.pem"}},
        callers={"me": {"token": "${TOKEN}"}},
    )
    async with serving(config, {"KEY": "sk-test", "TOKEN": "my-token"}, folder=tmp_path) as server:
        target = server.target.replace("127.0.0.1", "localhost")
        output = ForPeople(target)
        request = typed_request("chat", "Hello")
        known = Where(target=target, token="my-token", tls=True, ca=tmp_path / "ca.pem")
        assert await send(known, request, output, stream=False, timeout_seconds=20)
        assert capsys.readouterr().out == TEXT + "\n"
        unknown = Where(target=target, token="other", tls=True, ca=tmp_path / "ca.pem")
        assert not await send(unknown, request, output, stream=False, timeout_seconds=20)
        assert "FLUXRPC_TOKEN" in capsys.readouterr().err
        untrusting = Where(target=target, token="my-token", tls=True)
        assert not await send(untrusting, request, output, stream=False, timeout_seconds=20)
        assert "with TLS or without" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------- as a process


async def test_the_command_reads_a_prompt_from_stdin(server: Serving) -> None:
    done = await run("call", "chat", stdin=b"Hello\n", FLUXRPC_TARGET=server.target)
    assert (done.status, done.stdout) == (0, TEXT + "\n")


async def test_the_command_fails_with_the_call(server: Serving) -> None:
    done = await run("call", "nobody", "Hello", "--target", server.target)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("NOT_FOUND UNKNOWN_MODEL: ")


async def test_ctrl_c_cancels_the_call_up_to_the_provider(server: Serving, sim: Simulator) -> None:
    args = ("call", "silent", "Hello", "--stream", "--target", server.target)
    async with start(*args, stdout=asyncio.subprocess.PIPE) as running:
        assert running.process.stdout is not None
        async with asyncio.timeout(30):
            assert await running.process.stdout.read(1)  # the answer has begun
        running.process.send_signal(signal.SIGINT)
        await sim.wait_for(lambda: sim.seen("sim-stall-after-1")[0].socket_closed_by_peer)
        assert await running.exit_status() == 130
        assert running.lines == ["interrupted; the call is cancelled"]
