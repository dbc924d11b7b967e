"""Every fault that a configuration file can have, with its place and its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluxrpc.config.loader import parse
from fluxrpc.config.schema import Settings
from fluxrpc.errors import ConfigError

DIGEST = "ab" * 32
A = 'a: {protocols: {openai: "http://127.0.0.1:1/v1"}}'


def read(text: str, folder: Path = Path("/nowhere"), **environ: str) -> Settings:
    return parse(text.encode(), file="f.yaml", folder=folder, environ=environ)


def faults(text: str, folder: Path = Path("/nowhere"), **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text, folder, **environ)
    return [str(fault) for fault in caught.value.faults]


def config(*extra: str, services: str = A, routes: str = "[{service: a, model: m}]") -> str:
    return "\n".join([f"services: {{{services}}}", f"models: {{fast: {{routes: {routes}}}}}", *extra]) + "\n"


FAULTS = [
    ("[]", "f.yaml:1: expected a mapping, not a list"),
    (
        "services: {}\nmodels: {}\n",
        "f.yaml:1: services: expected at least one|f.yaml:2: models: expected at least one",
    ),
    ("log: {}\n", "f.yaml:1: services is missing|f.yaml:1: models is missing"),
    (config("sever: {}"), "f.yaml:3: sever: unknown setting; did you mean server?"),
    (config("server: 5"), "f.yaml:3: server: expected a mapping, not a whole number"),
    (config("server: {listen: [1]}"), "f.yaml:3: server.listen: expected one value, not a list"),
    (
        config("server:", "  workers: 2"),
        "f.yaml:4: server.workers: expected 1: more than one process is not supported",
    ),
    (config("server: {grase: 5s}"), "f.yaml:3: server.grase: unknown setting; did you mean grace?"),
    (
        config("server: {default_deadline: 2h}"),
        "f.yaml:3: server.default_deadline: expected at most max_deadline",
    ),
    (
        config(routes="[{service: a, model: m, gates: {refusd: [seed], refused: [sed], efforts: hi, prefill: 1}}]"),
        (
            "f.yaml:2: models.fast.routes[0].gates.refusd: unknown setting; did you mean refused?"
            "|f.yaml:2: models.fast.routes[0].gates.refused[0]: unknown; did you mean seed?"
            "|f.yaml:2: models.fast.routes[0].gates.efforts: unknown; did you mean high?"
            "|f.yaml:2: models.fast.routes[0].gates.prefill: expected true or false, but YAML reads 1 as a whole number"
        ),
    ),
    (
        config(services=A[:-1] + ", dialect: deepsek}"),
        (
            "f.yaml:1: services.a.dialect: expected one of openai, azure, deepseek, vllm, openrouter, google, litellm, "
            "mistral, groq, xai, together, fireworks, ollama, plain"
        ),
    ),
    (config("log: {level: loud}"), "f.yaml:3: log.level: expected one of debug, info, warning, error"),
    (
        config("log: {level: off}"),
        "f.yaml:3: log.level: expected one of debug, info, warning, error, but YAML reads off as a boolean",
    ),
    (config("policy: {max_attempts: 0}"), "f.yaml:3: policy.max_attempts: expected a whole number from 1, not 0"),
    (
        config("policy: {route_breaker: {failure_threshold: 0}}"),
        "f.yaml:3: policy.route_breaker.failure_threshold: expected a whole number from 1, not 0",
    ),
    (config(services="a: {}"), "f.yaml:1: services.a: protocols is missing"),
    (config(services="a: 5"), "f.yaml:1: services.a: expected a mapping, not a whole number"),
    (config(services="a: {protocols: 1}"), "f.yaml:1: services.a.protocols: expected a mapping, not a whole number"),
    (
        config(services="a: {protocols: {}}"),
        "f.yaml:1: services.a.protocols: expected at least one of openai, anthropic, gemini, cohere, responses",
    ),
    (
        config(services='a: {protocols: {opnai: "http://h"}}'),
        "f.yaml:1: services.a.protocols.opnai: unknown setting; did you mean openai?",
    ),
    (
        config(services=A + ", ' b': {}"),
        'f.yaml:1: services[" b"]: expected a name of at most 256 characters, with no blank at its ends',
    ),
    (
        config(services=A[:-1] + ', http: {proxy: "http://u:p@h"}}'),
        (
            "f.yaml:1: services.a.http.proxy: expected a URL such as https://api.example.com/v1, "
            "without user or password: secrets do not stand in a URL"
        ),
    ),
    (
        config(services=A[:-1] + ', http: {proxy: "${ABSENT}"}}'),
        "f.yaml:1: services.a.http.proxy: the environment variable ABSENT is not set",
    ),
    (
        config(services=A[:-1] + ', http: {proxy: "${NO_URL}"}}'),
        (
            "f.yaml:1: services.a.http.proxy: ${NO_URL}: expected a URL such as https://api.example.com/v1, "
            "with http or https and a host"
        ),
    ),
    (
        config(services=A[:-1] + ", http: {ca: absent.pem}}"),
        "f.yaml:1: services.a.http.ca: the file absent.pem cannot be read: No such file or directory",
    ),
    (config(routes="[]"), "f.yaml:2: models.fast.routes: expected a list with at least one route, not an empty one"),
    (config(routes="{}"), "f.yaml:2: models.fast.routes: expected a list with at least one route, not a mapping"),
    (config(routes="[5]"), "f.yaml:2: models.fast.routes[0]: expected a mapping, not a whole number"),
    (f"services: {{{A}}}\nmodels: {{x: 1}}", "f.yaml:2: models.x: expected a mapping, not a whole number"),
    (f"services: {{{A}}}\nmodels: {{x.y: {{}}}}", 'f.yaml:2: models["x.y"]: routes is missing'),
    (config(routes="[{service: a}]"), "f.yaml:2: models.fast.routes[0]: model is missing"),
    (config(routes="[{model: m}]"), "f.yaml:2: models.fast.routes[0]: service is missing"),
    (
        config(routes="[{service: b, model: m}]"),
        "f.yaml:2: models.fast.routes[0].service: no service 'b'; known: a",
    ),
    (
        config(services=A.replace("a:", "deepseek:"), routes="[{service: deepsek, model: m, weight: 0}]"),
        (
            "f.yaml:2: models.fast.routes[0].service: no service 'deepsek'; did you mean deepseek?"
            "|f.yaml:2: models.fast.routes[0].weight: expected a number above 0, not 0"
        ),
    ),
    (
        config(routes="[{service: a, model: m}, {service: a, model: m, priority: 1}]"),
        "f.yaml:2: models.fast.routes[1]: the same service, model and credential as models.fast.routes[0]",
    ),
    (
        config(routes="[{service: a, model: m, name: x}, {service: a, model: n, name: x}]"),
        "f.yaml:2: models.fast.routes[1].name: models.fast.routes[0] has this name already",
    ),
    (
        config(routes="[{service: a, model: m, credential: {file: k, x: 1}}]"),
        (
            "f.yaml:2: models.fast.routes[0].credential.x: unknown setting; known: file"
            "|f.yaml:2: models.fast.routes[0].credential: the file k cannot be read: No such file or directory"
        ),
    ),
    (
        config(routes="[{service: a, model: m, credential: {}}]"),
        "f.yaml:2: models.fast.routes[0].credential: file is missing",
    ),
    (
        config(routes="[{service: a, model: m, credential: [1]}]"),
        'f.yaml:2: models.fast.routes[0].credential: expected "${NAME}" or {file: path}, not a list',
    ),
    (config("callers: {}"), "f.yaml:3: callers: expected at least one"),
    (config("callers: {x: 1}"), "f.yaml:3: callers.x: expected a mapping, not a whole number"),
    (config("callers: {x: {}}"), "f.yaml:3: callers.x: token_sha256 (or token, by reference) is missing"),
    (config("callers: {x: {token_sha256: []}}"), "f.yaml:3: callers.x.token_sha256: expected at least one"),
    (
        config("callers: {x: {token: plain}}"),
        (
            'f.yaml:3: callers.x.token: expected "${NAME}" (environment) or {file: path}; '
            "secrets do not stand in this file"
        ),
    ),
    (
        config("callers:", f'  x: {{token_sha256: "{DIGEST}", models: [slow, fsat]}}'),
        (
            "f.yaml:4: callers.x.models[0]: no model matches 'slow'; known: fast"
            "|f.yaml:4: callers.x.models[1]: no model matches 'fsat'; did you mean fast?"
        ),
    ),
]


@pytest.mark.parametrize(("text", "expected"), FAULTS)
def test_faults(text: str, expected: str) -> None:
    assert faults(text, NO_URL="hunter2") == expected.split("|")


def test_all_faults_are_listed_at_once_in_the_order_of_the_file() -> None:
    text = config("log: {level: x}", "policy: {idle: -1}", "server: {listen: 1}", routes="[{service: b, model: 1}]")
    found = faults(text)
    assert [int(fault.split(":")[1]) for fault in found] == [2, 2, 3, 4, 5]


# ---------------------------------------------------------------------------------------------------- off loopback

EXPOSED = 'server: {listen: "0.0.0.0:1"'
CALLERS = f'callers: {{one: {{token_sha256: "{DIGEST}"}}}}'


def test_off_loopback_needs_tls_and_callers_or_flags(tmp_path: Path) -> None:
    for name in ("c", "k", "ca"):
        (tmp_path / name).write_text("pem")
    plaintext = "f.yaml:3: server.listen: 0.0.0.0:1 can be reached from elsewhere: set tls, or allow_plaintext: true"
    anonymous = (
        "f.yaml:3: server.listen: 0.0.0.0:1 can be reached from elsewhere: list callers, or allow_anonymous: true"
    )
    assert faults(config(EXPOSED + "}")) == [plaintext, anonymous]
    assert faults(config(EXPOSED + ", allow_plaintext: true}")) == [anonymous]
    assert faults(config(EXPOSED + ", allow_anonymous: true}")) == [plaintext]
    assert faults(config(EXPOSED + "}", CALLERS)) == [plaintext]
    assert faults(config(EXPOSED + ", tls: {cert: c, key: k}}"), tmp_path) == [anonymous]
    read(config(EXPOSED + ", allow_plaintext: true, allow_anonymous: true}"))
    read(config(EXPOSED + ", tls: {cert: c, key: k}}", CALLERS), tmp_path)
    tls = read(config(EXPOSED + ", tls: {cert: c, key: k, client_ca: ca}}"), tmp_path).server.tls
    assert tls is not None
    assert (tls.cert, tls.client_ca) == (str(tmp_path / "c"), str(tmp_path / "ca"))


def test_no_complaint_follows_from_another() -> None:
    found = faults(config(EXPOSED + ", tls: {cert: c, key: k}, allow_anonymous: true}"))
    assert found == [
        f"f.yaml:3: server.tls.{name}: the file {file} cannot be read: No such file or directory"
        for name, file in (("cert", "c"), ("key", "k"))
    ]
    broken_service = config(services='a: {protocols: {openai: "ftp://x"}}')
    assert len(faults(broken_service)) == 1


def test_no_secret_in_any_fault() -> None:
    sentinel = "SENTINEL-KEY-123"
    text = config(
        f"callers: {{x: {{token: {sentinel}}}, y: {{token_sha256: {sentinel}}}}}",
        services=f'a: {{protocols: {{openai: "https://{sentinel}@h/?key={sentinel}"}}, http: {{proxy: "http://u:{sentinel}@h"}}}}',
        routes=f'[{{service: a, model: m, credential: {sentinel}}}, {{service: a, model: n, credential: "${{K}}"}}]',
    )
    found = faults(text, K=f"{sentinel}\n")
    assert len(found) == 6
    assert sentinel not in "".join(found)
