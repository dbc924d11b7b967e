#!/usr/bin/env bash
# Resolve pyproject.toml into requirements/*.txt: every version pinned, every file with its hash, for all platforms
# and Pythons from 3.11 on, and no index address, so that whoever installs uses the index that they trust.
# Usage: lock.sh UV [ARGUMENTS OF uv pip compile …]
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$1
shift

compile() { # FILE SOURCE…
  local file=$1
  shift
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --system-certs \
    --custom-compile-command 'make lock' --output-file "requirements/$file" "$@"
}

compile dev.txt pyproject.toml --group dev --extra uvloop "$@"
# The same versions as in dev.txt: what is tested is what is deployed.
compile runtime.txt pyproject.toml --extra uvloop --constraint requirements/dev.txt "$@"
compile build.txt --group build --constraint requirements/dev.txt "$@"
compile gen.txt --group gen "$@"
compile e2e.txt --group e2e "$@"
compile fuzz.txt pyproject.toml --group fuzz --constraint requirements/dev.txt "$@"
compile lock.txt --group lock "$@"
