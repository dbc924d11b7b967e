#!/usr/bin/env bash
# The Go half of a make target, skipped aloud where there is no Go. Usage: go.sh fmt|test
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v go >/dev/null; then
  echo "Go is not installed: skipped $1 of clients/go"
  exit 0
fi
# The tests of the client start the real server with this.
export FLUXRPC_PYTHON=$PWD/.venv/bin/python
cd clients/go

case $1 in
  fmt) go fmt ./... ;;
  test)
    race=-race
    if [ "$(go env CGO_ENABLED)" != 1 ] || ! command -v "$(go env CC)" >/dev/null; then
      race=
      echo "no C compiler: Go tests run without the race detector"
    fi
    go vet ./...
    # What the tests start is not Go, so a cached result would prove nothing.
    go test -count=1 -timeout 5m $race ./...
    ;;
  *)
    echo "usage: $0 fmt|test" >&2
    exit 2
    ;;
esac
