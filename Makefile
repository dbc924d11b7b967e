# Every target works on a fresh clone: what it needs is set up first, and set up once.
# Needed beforehand: Python 3.11 or newer; Go 1.24 or newer for the Go half (skipped, and said so, without it).

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

# The first Python on the path that is new enough; PYTHON=… overrides.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
# Go's own installer leaves it here, often without touching the path.
export PATH := $(PATH):/usr/local/go/bin
# The Go that is there builds, none is fetched.
export GOTOOLCHAIN := local
export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN := .venv/bin
CODE := fluxrpc tests $(wildcard clients/python) scripts
# The distributions of this repository, by their folders.
PACKAGES := . $(patsubst %/pyproject.toml,./%,$(wildcard clients/python/pyproject.toml))
CONFIG ?= docs/example.yaml
PYTEST_ARGS ?=
FUZZ_SECONDS ?= 10

# What must be covered wholly, by branch: the code that decides and does no input or output.
PURE := fluxrpc/errors.py,fluxrpc/sse.py,fluxrpc/ir/*,fluxrpc/protocols/*,fluxrpc/resilience/*,fluxrpc/routing/plan.py

# What every environment is made with: a virtual environment, then exactly the locked files, each proved by its hash.
define install
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none is on the path" >&2; exit 1; }
	@test -x $(1)/bin/pip || $(PYTHON) -m venv $(1)
	$(1)/bin/pip install --quiet --require-hashes --requirement $(2)
endef

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# ---------------------------------------------------------------------------------------------------- set up

.PHONY: setup
setup: .venv/.installed ## make .venv from the lock, with fluxrpc and its client in it

.venv/.installed: requirements/build.txt requirements/dev.txt $(addsuffix /pyproject.toml,$(PACKAGES))
	$(call install,.venv,requirements/build.txt)
	$(call install,.venv,requirements/dev.txt --no-build-isolation --use-pep517)
	$(BIN)/pip install --quiet --no-deps --no-build-isolation $(addprefix --editable ,$(PACKAGES))
	@touch $@

.envs/gen/.installed: requirements/gen.txt
	$(call install,.envs/gen,requirements/gen.txt)
	@touch $@

.envs/e2e/.installed: requirements/e2e.txt
	$(call install,.envs/e2e,requirements/e2e.txt)
	@touch $@

.envs/fuzz/.installed: requirements/fuzz.txt
	$(call install,.envs/fuzz,requirements/fuzz.txt)
	@touch $@

.envs/lock/.installed: requirements/lock.txt
	$(call install,.envs/lock,requirements/lock.txt)
	@touch $@

.PHONY: lock
lock: .envs/lock/.installed ## resolve pyproject.toml again into requirements/*.txt; LOCK_ARGS=--upgrade for newer ones
	scripts/lock.sh .envs/lock/bin/uv $(LOCK_ARGS)

# ---------------------------------------------------------------------------------------------------- use

.PHONY: demo
demo: setup ## route, fail over and stream through the real server, with simulated providers
	$(BIN)/fluxrpc demo

.PHONY: run
# Without keys the server starts all the same; the providers will then reject what they are sent.
run: export DEEPSEEK_API_KEY ?= not-set
run: export OPENAI_API_KEY ?= not-set
run: setup ## serve CONFIG (docs/example.yaml)
	$(BIN)/fluxrpc serve --config $(CONFIG)

.PHONY: wheel
wheel: setup ## build the wheels into dist/
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist $(PACKAGES)
	@ls dist

# ---------------------------------------------------------------------------------------------------- change

.PHONY: proto
proto: setup .envs/gen/.installed ## generate the Python and Go stubs from proto/
	scripts/proto.sh

.PHONY: docs
docs: setup ## render docs/translation.md from the tables that drive the translators
	$(BIN)/python scripts/translation_docs.py > docs/translation.md

.PHONY: fmt
fmt: setup ## format Python, protos and Go in place
	$(BIN)/ruff check --quiet --fix-only $(CODE)
	$(BIN)/ruff format $(CODE)
	$(BIN)/buf format --write proto
	scripts/go.sh fmt

# ---------------------------------------------------------------------------------------------------- check

.PHONY: lint
lint: setup ## formatting, ruff, import layers, buf (also against the frozen contract), go vet
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/lint-imports --no-logo
	$(BIN)/buf format --diff --exit-code proto
	$(BIN)/buf lint proto
	$(BIN)/buf breaking proto --against proto/baseline.binpb
	scripts/go.sh lint

.PHONY: type
type: setup ## mypy, strict
	$(BIN)/mypy $(CODE)

.PHONY: proto-check
proto-check: setup .envs/gen/.installed ## fail where the committed stubs differ from proto/
	scripts/proto.sh --check

.PHONY: test
test: setup ## all tests with their coverage gates, Python and Go; PYTEST_ARGS=… for some of Python's, without gates
ifneq ($(PYTEST_ARGS),)
	$(BIN)/pytest $(PYTEST_ARGS)
else
	$(BIN)/coverage erase
	$(BIN)/pytest --cov --cov-report=
	$(BIN)/coverage report --include '$(PURE)' --fail-under 100
	$(BIN)/coverage report --fail-under 92
	scripts/go.sh test
endif

.PHONY: e2e
e2e: setup .envs/e2e/.installed ## a real LLM behind fluxrpc, called through the Python and Go clients
	$(BIN)/python -m tests.e2e

.PHONY: bench
bench: setup ## measure against a bare forwarder beside it, gate on the ratios
	$(BIN)/python -m tests.bench

.PHONY: fuzz
fuzz: .envs/fuzz/.installed ## throw broken bodies and streams at every reader; FUZZ_SECONDS=… for each (10)
	.envs/fuzz/bin/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

.PHONY: check
check: lint type proto-check test ## everything that must hold before a commit; the tests come last

.PHONY: clean
clean: ## remove all that can be made again, environments too
	rm -rf .venv .envs build dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
