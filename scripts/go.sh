#!/usr/bin/env bash
# The Go half of a make target, skipped aloud where there is no Go. Usage: go.sh fmt|lint|test
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
mapfile -t modules < <(find clients tests -name go.mod -printf '%h\n' | sort)

if ! command -v go >/dev/null; then
  echo "SKIPPED: Go is not installed, so $1 leaves out ${modules[*]}"
  exit 0
fi

format() {
  gofmt -l -w "${modules[@]}"
}

check() {
  local unformatted
  unformatted=$(gofmt -l "${modules[@]}")
  if [ -n "$unformatted" ]; then
    echo "not as gofmt writes it; make fmt mends it:"
    echo "$unformatted"
    exit 1
  fi
  for module in "${modules[@]}"; do
    (cd "$module" && go vet ./...)
  done
}

run_tests() {
  local race=-race
  if [ "$(go env CGO_ENABLED)" != 1 ] || ! command -v "$(go env CC)" >/dev/null; then
    race=
    echo "no C compiler: the Go tests run without the race detector"
  fi
  # The tests start the real server with this. It is not Go, so that a cached result would prove nothing.
  export FLUXRPC_PYTHON=$root/.venv/bin/python FLUXRPC_REQUIRE_SERVER=1
  cd clients/go
  go test -count=1 -timeout 5m $race ./...
}

case $1 in
  fmt) format ;;
  lint) check ;;
  test) run_tests ;;
  *)
    echo "usage: $0 fmt|lint|test" >&2
    exit 2
    ;;
esac
