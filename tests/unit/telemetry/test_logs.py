from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from fluxrpc.errors import GrpcCode
from fluxrpc.telemetry.logs import AccessLog, AccessRecord, LineBatch, Redaction, configure_logs

KEY = "SENTINEL-KEY-123"
Configure = Callable[..., AccessLog]


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def configure(out: io.StringIO) -> Iterator[Configure]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level

    def configured(*, json: bool = True, level: str = "info", redaction: Redaction | None = None) -> AccessLog:
        return configure_logs(level=level, json=json, redaction=redaction or Redaction([KEY]), stream=out)

    yield configured
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


RECORD = AccessRecord(
    request_id="id-1", method="/fluxrpc.v1.RouterService/Execute", code=GrpcCode.OK, reason="OK",
    duration_seconds=0.1234567, caller="billing", model="fast", route="fast/a/m", attempts=2,
    input_tokens=7, output_tokens=5,
)  # fmt: skip


def test_one_access_line_for_a_call(out: io.StringIO, configure: Configure) -> None:
    configure().write(RECORD)
    (line,) = lines(out)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "call", "level": "info", "request_id": "id-1", "method": "/fluxrpc.v1.RouterService/Execute",
        "code": "OK", "reason": "OK", "duration_seconds": 0.123457, "caller": "billing", "model": "fast",
        "route": "fast/a/m", "attempts": 2, "input_tokens": 7, "output_tokens": 5,
    }  # fmt: skip


def test_the_access_line_of_a_failure(out: io.StringIO, configure: Configure) -> None:
    access = configure()
    model = KEY + "x" * 1000
    failed = AccessRecord(
        request_id="i", method="m", code=GrpcCode.INTERNAL, reason="INTERNAL", duration_seconds=1, model=model
    )
    access.write(failed)
    (line,) = lines(out)
    assert (line["level"], line["code"]) == ("error", "INTERNAL")
    assert line["model"].startswith("[hidden]xxx")
    assert len(line["model"]) < 250
    assert "input_tokens" not in line


def test_levels(out: io.StringIO, configure: Configure) -> None:
    access = configure(level="warning")
    access.write(RECORD)
    structlog.get_logger().info("quiet")
    logging.getLogger("foreign").info("quiet")
    structlog.get_logger().warning("loud")
    assert [line["event"] for line in lines(out)] == ["loud"]


def test_debug_lines_of_other_libraries_stay_out(out: io.StringIO, configure: Configure) -> None:
    configure(level="debug")
    structlog.get_logger().debug("ours")
    logging.getLogger("foreign").debug("theirs")
    assert [line["event"] for line in lines(out)] == ["ours"]


def test_secrets_are_hidden_by_the_name_of_their_field(out: io.StringIO, configure: Configure) -> None:
    configure(redaction=Redaction())
    hidden = ("authorization", "api_key", "x-api-key", "x-goog-api-key", "apikey", "token", "caller_token",
              "credential", "client.secret", "Proxy-Authorization", "cookie", "password")  # fmt: skip
    shown = ("input_tokens", "max_tokens", "tokens", "author", "monkey", "keyboard")
    structlog.get_logger().info(
        "x", **dict.fromkeys(hidden + shown, "v"), headers={"Authorization": "v", "accept": "v"}
    )
    (line,) = lines(out)
    assert {name for name in hidden + shown if line[name] == "[hidden]"} == set(hidden)
    assert line["headers"] == {"Authorization": "[hidden]", "accept": "v"}


class Shows:
    def __repr__(self) -> str:
        return f"Shows({KEY})"


def test_known_secrets_are_hidden_wherever_they_stand(out: io.StringIO, configure: Configure) -> None:
    configure()
    deep: Any = KEY
    for _ in range(20):
        deep = [deep]
    structlog.get_logger().info(
        f"event {KEY}", url=f"https://h/?key={KEY}", deep=deep, inner={"a": [KEY, (KEY, 1)]}, thing=Shows(), number=5
    )
    try:
        int(KEY)
    except ValueError:
        structlog.get_logger().exception("ours")
        logging.getLogger("grpc").exception("theirs %s", KEY)
    first, *rest = lines(out)
    assert KEY not in out.getvalue()
    assert (first["url"], first["thing"], first["number"]) == ("https://h/?key=[hidden]", "Shows([hidden])", 5)
    assert first["inner"] == {"a": ["[hidden]", ["[hidden]", 1]]}
    assert all("with base 10: '[hidden]'" in line["exception"] and line["level"] == "error" for line in rest)
    assert len(rest) == 2
    assert rest[1]["logger"] == "grpc"


def test_a_secret_that_begins_another_leaves_nothing_of_it(out: io.StringIO, configure: Configure) -> None:
    redaction = Redaction(["abcdef", "abcdef-and-more", "a"])
    configure(redaction=redaction)
    structlog.get_logger().info("abcdef-and-more a abcdef")
    redaction.know(["second"])
    structlog.get_logger().info("abcdef second")
    assert [line["event"] for line in lines(out)] == ["[hidden] a [hidden]", "abcdef [hidden]"]


def test_lines_for_people(out: io.StringIO, configure: Configure) -> None:
    configure(json=False).write(RECORD)
    structlog.get_logger().info("hello", api_key=KEY)
    logging.getLogger("foreign").warning("theirs")
    text = out.getvalue()
    assert "call" in text
    assert "fast/a/m" in text
    assert "[hidden]" in text
    assert "theirs" in text
    assert KEY not in text
    assert "\x1b" not in text


def test_configuring_again_replaces_and_leaves_other_handlers(out: io.StringIO, configure: Configure) -> None:
    foreign = logging.NullHandler()
    logging.getLogger().addHandler(foreign)
    configure()
    before = len(logging.getLogger().handlers)
    configure()
    assert len(logging.getLogger().handlers) == before
    assert foreign in logging.getLogger().handlers
    logging.getLogger("foreign").warning("once")
    assert len(lines(out)) == 1


async def test_access_lines_of_one_moment_are_written_together() -> None:
    writes: list[str] = []
    written = asyncio.Event()

    class Out(io.StringIO):
        def write(self, text: str) -> int:
            writes.append(text)
            written.set()
            return len(text)

    lines = LineBatch(Out())
    lines.add("one")
    lines.add("two")
    assert writes == []
    await written.wait()
    assert writes == ["one\ntwo\n"]
    lines.add("three")
    lines.flush()
    lines.flush()
    assert writes[1:] == ["three\n"]
