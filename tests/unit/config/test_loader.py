from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxrpc.config import loader
from fluxrpc.config.loader import load, parse
from fluxrpc.config.schema import Settings
from fluxrpc.errors import ConfigError

SOUND = """\
services:
  a: {protocols: {openai: "http://127.0.0.1:1/v1"}}
models:
  fast: {routes: [{service: a, model: m}]}
"""


def read(text: str | bytes, environ: dict[str, str] | None = None) -> Settings:
    content = text if isinstance(text, bytes) else text.encode()
    return parse(content, file="f.yaml", folder=Path("/nowhere"), environ=environ or {})


def faults(text: str | bytes) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return [str(fault) for fault in caught.value.faults]


def test_a_sound_file() -> None:
    assert read(SOUND).models["fast"].routes[0].model == "m"
    assert read(b"\xef\xbb\xbf" + SOUND.encode()) == read(SOUND)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f.yaml:1: empty"),
        ("# nothing\n", "f.yaml:1: empty"),
        ("a: 1\nb: [1\n", "f.yaml:3: not valid YAML: "),
        ("a: 1\n\tb: 2\n", "f.yaml:2: not valid YAML: "),
        (b"a: 1\nb: \xff\n", "f.yaml:2: not UTF-8"),
        ("a: 1\nb: '\x07'\n", "f.yaml:"),
        ("a: 1\n---\nb: 1\n", "f.yaml:2: more than one YAML document"),
        ("a: !!python/object:os.system x\n", "f.yaml:1: YAML tags are not supported"),
        ("a: !x {}\n", "f.yaml:1: YAML tags are not supported"),
        ("? [a]\n: 1\n", "f.yaml:1: expected a name"),
        ("x: &x [1]\n*x : 1\n", "f.yaml:2: expected a name"),
        ("a: *nothing\n", "f.yaml:1: "),
        ("a: &a [*a]\n", "f.yaml:1: the alias *a refers to nothing complete"),
        ("[" * 100, "f.yaml:1: nested deeper than 32"),
    ],
)
def test_an_unreadable_file_has_one_fault(text: str | bytes, expected: str) -> None:
    found = faults(text)
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_aliases_cannot_multiply_without_bound() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for name, inner in zip("bcdefghi", "abcdefgh", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{inner}'] * 10)}]\n"
    assert faults(bomb)[0].endswith(f"more than {loader.MAX_NODES} values, aliases written out")


def test_a_deep_file_of_megabytes_ends_at_once() -> None:
    (fault,) = faults("[" * 2_000_000)
    assert "nest" in fault


def test_a_file_over_the_limit() -> None:
    assert faults("#" * (loader.MAX_FILE_BYTES + 1)) == ["f.yaml:1: larger than 4 MiB"]


def test_aliases_work() -> None:
    text = SOUND + "callers:\n  one: &one {token_sha256: '" + "ab" * 32 + "', models: &m [fast]}\n  two: *one\n"
    assert "the same token as callers.one" in faults(text)[0]
    policy = (
        "policy: {route_breaker: &b {failure_threshold: &n 7, recovery: 1s}, endpoint_breaker: *b, max_attempts: *n}\n"
    )
    assert read(SOUND + policy).policy.endpoint_breaker.failure_threshold == 7
    assert read(SOUND + policy).policy.max_attempts == 7


def test_duplicate_keys_are_refused_whatever_their_quotes() -> None:
    text = SOUND + 'log: {level: info, "level": debug}\nserver: {}\nserver:\n  listen: "127.0.0.1:1"\n'
    assert faults(text) == [
        "f.yaml:5: log.level: stands here a second time, first in line 5",
        "f.yaml:7: server: stands here a second time, first in line 6",
    ]


def test_names_are_texts_even_where_yaml_reads_something_else() -> None:
    text = """\
services:
  on: {protocols: {openai: "http://127.0.0.1:1/v1"}}
models:
  1.10: {routes: [{service: "on", model: "1.10"}]}
  2024-01-01: {routes: [{service: 'on', model: "no"}]}
"""
    assert list(read(text).models) == ["1.10", "2024-01-01"]
    assert read(text).models["2024-01-01"].routes[0].model == "no"


@pytest.mark.parametrize(
    ("written", "reads_as"),
    [
        ("no", "a boolean"),
        ("1.10", "a number"),
        ("5", "a whole number"),
        *((odd, "a date, or") for odd in ("2024-01-01", "0755", "1:30", ".inf", "0x1F", "1_000", "9" * 30)),
    ],
)
def test_what_yaml_makes_of_a_text_is_said(written: str, reads_as: str) -> None:
    (fault,) = faults(SOUND.replace("model: m", f"model: {written}"))
    assert fault.startswith("f.yaml:4: models.fast.routes[0].model: expected a text, but YAML reads " + written[:40])
    assert f"as {reads_as}" in fault
    assert fault.endswith("put it in quotes")


def test_load_reads_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("abc\n")
    (tmp_path / "ca.pem").write_text("pem")
    text = SOUND.replace("model: m", "model: m, credential: {file: key}").replace('v1"}', 'v1"}, http: {ca: ca.pem}')
    file = tmp_path / "flux.yaml"
    file.write_text(text)
    loaded = load(file, environ={})
    credential = loaded.models["fast"].routes[0].credential
    assert credential is not None
    assert credential.reveal() == "abc"
    assert loaded.services["a"].http.ca == str(tmp_path / "ca.pem")


def test_load_takes_the_environment_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUX_TEST_KEY", "from-env")
    (tmp_path / "f.yaml").write_text(SOUND.replace("model: m", 'model: m, credential: "${FLUX_TEST_KEY}"'))
    credential = load(tmp_path / "f.yaml").models["fast"].routes[0].credential
    assert credential is not None
    assert credential.reveal() == "from-env"


def test_a_file_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.yaml", tmp_path):
        with pytest.raises(ConfigError) as caught:
            load(path)
        assert str(caught.value).startswith(f"{path}:1: cannot be read: ")


def test_the_swap_of_a_symlink_is_seen(tmp_path: Path) -> None:
    for name, model in (("one", "m1"), ("two", "m2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.yaml").write_text(SOUND.replace("model: m", f"model: {model}"))
    (tmp_path / "data").symlink_to("one")
    (tmp_path / "f.yaml").symlink_to("data/f.yaml")
    assert load(tmp_path / "f.yaml").models["fast"].routes[0].model == "m1"
    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").rename(tmp_path / "data")
    assert load(tmp_path / "f.yaml").models["fast"].routes[0].model == "m2"


EXAMPLE = (Path(__file__).parents[3] / "docs" / "example.yaml").read_bytes()


def is_settled(content: bytes) -> bool:
    """Whether reading ends as it may: with settings, or with faults that have a place."""
    try:
        return bool(read(content).models)
    except ConfigError as error:
        return all(fault.line >= 1 and fault.message for fault in error.faults)


def test_half_written_files_are_faults_or_configurations() -> None:
    assert all(is_settled(EXAMPLE[:length]) for length in range(0, len(EXAMPLE), 7))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_files_never_crash(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(EXAMPLE)))
    end = data.draw(st.integers(start, min(start + 40, len(EXAMPLE))))
    piece = data.draw(st.binary(max_size=12) | st.text(":{}[]&*!|>'\"%@`#-? \n\tab1.~<=", max_size=12).map(str.encode))
    assert is_settled(EXAMPLE[:start] + piece + EXAMPLE[end:])
