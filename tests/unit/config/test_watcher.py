from __future__ import annotations

from pathlib import Path

import pytest

from fluxrpc.config.loader import load, parse
from fluxrpc.config.schema import Settings
from fluxrpc.config.summary import summarise
from fluxrpc.config.watcher import Reloader, needs_restart
from fluxrpc.errors import ConfigError

SOUND = """\
server: {listen: "127.0.0.1:1"}
services: {a: {protocols: {openai: "http://127.0.0.1:1/v1"}}}
models: {fast: {routes: [{service: a, model: m, priority: 5, credential: "${KEY}"}, {service: a, model: n}]}}
"""
ENVIRON = {"KEY": "sk-SENTINEL"}


def settings(text: str = SOUND) -> Settings:
    return parse(text.encode(), file="f.yaml", folder=Path("/nowhere"), environ=ENVIRON)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.yaml"
    path.write_text(SOUND)
    return path


def test_the_first_load_raises(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Reloader(lambda: load(tmp_path / "absent"))


def test_a_good_file_replaces_the_old(file: Path) -> None:
    now = iter([10.0, 20.0])
    reloader = Reloader(lambda: load(file, environ=ENVIRON), clock=lambda: next(now))
    old = reloader.state
    file.write_text(SOUND.replace("model: m", "model: other"))
    assert reloader.reload()
    assert (old.generation, old.loaded_at, old.settings.models["fast"].routes[0].model) == (1, 10.0, "m")
    assert (reloader.state.generation, reloader.state.loaded_at) == (2, 20.0)
    assert reloader.state.settings.models["fast"].routes[0].model == "other"


@pytest.mark.parametrize(
    "broken",
    [
        "", "not: [valid yaml", SOUND[:60], SOUND + "policy: {max_attempts: 0}", SOUND + "policy: {idle: -1}",
        SOUND.replace("service: a, model: n", "service: b, model: n"), None,
    ],
)  # fmt: skip
def test_a_broken_file_keeps_the_last_good_one(file: Path, broken: str | None) -> None:
    now = iter([10.0, 20.0, 30.0])
    reloader = Reloader(lambda: load(file, environ=ENVIRON), clock=lambda: next(now))
    before = reloader.state
    if broken is None:
        file.unlink()
    else:
        file.write_text(broken)
    assert not reloader.reload()
    assert reloader.state.settings is before.settings
    assert (reloader.state.generation, reloader.state.loaded_at) == (1, 10.0)
    assert reloader.state.last_fault is not None
    assert str(reloader.state.last_fault).startswith(str(file))
    assert reloader.state.last_fault_at == 20.0
    file.write_text(SOUND)
    assert reloader.reload()
    recovered = reloader.state
    assert (recovered.generation, recovered.last_fault, recovered.last_fault_at) == (2, None, None)


def test_a_bug_while_reading_is_a_fault_too() -> None:
    results = iter([settings()])

    def read() -> Settings:
        try:
            return next(results)
        except StopIteration:
            raise ZeroDivisionError("sk-SENTINEL") from None

    reloader = Reloader(read)
    assert not reloader.reload()
    assert "ZeroDivisionError" in str(reloader.state.last_fault)
    assert "SENTINEL" not in str(reloader.state.last_fault)


def test_what_needs_a_restart() -> None:
    assert needs_restart(settings(), settings()) == ()
    routes_only = settings(SOUND.replace("model: m", "model: other"))
    assert needs_restart(settings(), routes_only) == ()
    other = settings(SOUND.replace('127.0.0.1:1"}', '127.0.0.1:2", grace: 1s}', 1) + "log: {level: debug}\n")
    assert needs_restart(settings(), other) == ("server.listen", "server.grace_seconds", "log.level")


def test_the_summary_shows_everything_but_secrets() -> None:
    digest = "ab" * 32
    summary = summarise(
        settings(SOUND + f'callers: {{c: {{token_sha256: "{digest}"}}}}\nmetrics: {{listen: "[::1]:9"}}\n')
    )
    assert (summary.listen, summary.tls, summary.callers) == ("127.0.0.1:1", False, ("c",))
    assert (summary.metrics, summary.services) == ("[::1]:9", 1)
    assert [(r.model, r.route, r.upstream_model, r.priority, r.credential) for r in summary.routes] == [
        ("fast", "fast/a/n", "n", 0, "none"),
        ("fast", "fast/a/m", "m", 5, "${KEY}"),
    ]
    assert summary.routes[0].protocols == ("openai",)
    assert "SENTINEL" not in repr(summary)
    assert digest not in repr(summary)
    assert summarise(settings()).metrics == "off"
