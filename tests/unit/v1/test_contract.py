from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

import fluxrpc.v1
import fluxrpc_client.v1
from fluxrpc.v1 import (
    ExecuteRequest,
    ExecuteResponse,
    ExecuteStreamResponse,
    Message,
    MessageRequest,
    Protocol,
    message_pb2,
    outcome_pb2,
    part_pb2,
    protocol_pb2,
    response_pb2,
    router_pb2,
    stream_pb2,
    tool_pb2,
    usage_pb2,
)

FILES = (
    message_pb2,
    outcome_pb2,
    part_pb2,
    protocol_pb2,
    response_pb2,
    router_pb2,
    stream_pb2,
    tool_pb2,
    usage_pb2,
)


def messages() -> Iterator[Descriptor]:
    for file in FILES:
        yield from file.DESCRIPTOR.message_types_by_name.values()


def fields() -> Iterator[tuple[str, FieldDescriptor]]:
    for message in messages():
        for field in message.fields:
            yield f"{message.name}.{field.name}", field


def test_server_and_client_share_their_classes_in_one_process() -> None:
    assert fluxrpc.v1.__all__ == fluxrpc_client.v1.__all__
    for name in fluxrpc.v1.__all__:
        ours, theirs = getattr(fluxrpc.v1, name), getattr(fluxrpc_client.v1, name)
        assert ours is theirs or ours == theirs or ours.DESCRIPTOR is theirs.DESCRIPTOR, name


@pytest.mark.parametrize(("package", "absent"), [("fluxrpc.v1", "grpc"), ("fluxrpc_client.v1", "fluxrpc")])
def test_each_package_stands_alone(package: str, absent: str) -> None:
    code = f"import sys, {package}; print({absent!r} in sys.modules)"
    folders = {Path(str(module.__file__)).parents[2] for module in (fluxrpc.v1, fluxrpc_client.v1)}
    env = {"PYTHONPATH": ":".join(map(str, folders))}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True, timeout=60)
    assert ran.stdout.strip() == "False"


def test_every_message_is_exported() -> None:
    assert {message.name for message in messages()} <= set(fluxrpc.v1.__all__)


def test_numbers_of_protocols_never_change() -> None:
    names = ("UNSPECIFIED", "OPENAI", "ANTHROPIC", "GEMINI", "COHERE", "RESPONSES")
    assert list(Protocol.items()) == [(f"PROTOCOL_{name}", number) for number, name in enumerate(names)]


def test_an_open_enum_has_a_place_for_the_raw_word() -> None:
    checked = 0
    for place, field in fields():
        enum = field.enum_type
        if enum is not None and any(value.name.endswith("_OTHER") for value in enum.values):
            if place == "MessageRequest.output_modalities":  # asked for in our words, never read from a provider
                continue
            assert field.containing_type is not None
            siblings = field.containing_type.fields_by_name
            assert f"{field.name}_raw" in siblings or "raw" in siblings, place
            checked += 1
    assert checked > 15


def test_json_travels_as_text() -> None:
    checked = [place for place, field in fields() if field.name.endswith("_json")]
    assert len(checked) > 8
    strings = [place for place, field in fields() if field.name.endswith("_json") and field.type == field.TYPE_STRING]
    assert strings == checked
    structs = [p for p, f in fields() if f.message_type and f.message_type.full_name.startswith("google.protobuf.S")]
    assert structs == []


def test_a_request_has_no_model_and_an_answer_no_end_event() -> None:
    assert "model" not in MessageRequest.DESCRIPTOR.fields_by_name
    kinds = set(stream_pb2.StreamEvent.DESCRIPTOR.oneofs_by_name["event"].fields)
    assert {kind.name for kind in kinds}.isdisjoint({"end", "error", "ping", "completed"})


def test_the_kinds_of_stream_message() -> None:
    kinds = [field.name for field in ExecuteStreamResponse.DESCRIPTOR.oneofs_by_name["message"].fields]
    assert kinds == ["started", "events", "native", "restarted", "continued", "completed"]


def test_execute_and_stream_share_one_request() -> None:
    methods = router_pb2.DESCRIPTOR.services_by_name["RouterService"].methods_by_name
    assert list(methods) == ["Execute", "ExecuteStream", "Translate", "ListModels"]
    assert methods["Execute"].input_type is methods["ExecuteStream"].input_type
    assert methods["ExecuteStream"].server_streaming


def test_text_is_all_that_a_simple_request_needs() -> None:
    request = ExecuteRequest(model="m", message=MessageRequest(messages=[Message(role="ROLE_USER", text="Hi")]))  # type: ignore[arg-type]  # names are accepted too
    assert ExecuteRequest.FromString(request.SerializeToString()).message.messages[0].text == "Hi"
    assert ExecuteResponse().WhichOneof("response") is None
