#!/usr/bin/env bash
# Generate the stubs of everything under proto/: Python for the server and for the client, Go for the Go client.
# Usage: proto.sh            write them in place
#        proto.sh --check    write nothing; exit 1 where the committed stubs differ from what proto/ says
# GEN_PYTHON names another interpreter that has the packages of requirements/gen.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=${GEN_PYTHON:-$root/.envs/gen/bin/python}
export GOTOOLCHAIN=local

mode=write
if [ "${1:-}" = --check ]; then
  mode=check
elif [ $# -gt 0 ]; then
  echo "usage: $0 [--check]" >&2
  exit 2
fi
if ! "$python" -c 'import grpc_tools, mypy_protobuf' 2>/dev/null; then
  echo "The generators are not installed in $python; 'make proto' installs them." >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
mapfile -t protos < <(cd proto && find fluxrpc -name '*.proto' | LC_ALL=C sort)
mapfile -t services < <(cd proto && grep -l '^service ' "${protos[@]}")
mapfile -t packages < <(dirname "${protos[@]}" | sort -u)
generated=()

protoc() {
  (cd proto && PATH=$(dirname "$python"):$work/bin:$PATH "$python" -m grpc_tools.protoc -I . "$@")
}

# Comments for buf alone mean nothing to those who read the stubs.
drop_lint_comments() {
  find "$out" -type f -name "$1" -exec sed -i '/buf:lint:ignore/d' {} +
}

generate_python() {
  mkdir -p "$out"
  protoc --descriptor_set_out="$work/descriptors.binpb" --python_out="$out" --mypy_out=quiet:"$out" "${protos[@]}"
  # Only files with a service: for the others the plugins write modules that hold nothing.
  protoc --grpc_python_out="$out" --mypy_grpc_out=quiet:"$out" "${services[@]}"
  drop_lint_comments '*.py*'
  local package client
  for package in "${packages[@]}"; do
    # The client lies at an import path of its own, so that both wheels can be installed together. The descriptors are
    # the same to the byte: in one process both register once and share their classes.
    client=clients/python/${package/fluxrpc/fluxrpc_client}
    mkdir -p "$out/$client"
    cp "$out/$package"/* "$out/$client"
    sed -i -E "s/^from fluxrpc\./from fluxrpc_client./; s/'fluxrpc\.([a-z0-9_.]+_pb2)'/'fluxrpc_client.\1'/" "$out/$client"/*
    write_exports "$package" "$package"
    write_exports "$package" "$client"
    generated+=("$package" "$client")
  done
}

write_exports() { # PROTO_DIRECTORY PYTHON_DIRECTORY
  local importable=${2#clients/python/}
  "$python" scripts/proto_exports.py "$work/descriptors.binpb" "${1//\//.}" "${importable//\//.}" >"$out/$2/__init__.py"
}

generate_go() {
  if ! command -v go >/dev/null; then
    echo "SKIPPED: Go is not installed, so the Go stubs in clients/go are left as they are"
    return
  fi
  # The versions are those of the tool lines in go.mod.
  (cd clients/go && GOBIN=$work/bin GOFLAGS=-mod=readonly go install tool)
  protoc --go_out="$out/clients/go" --go_opt=paths=source_relative \
    --go-grpc_out="$out/clients/go" --go-grpc_opt=paths=source_relative "${protos[@]}"
  drop_lint_comments '*.go'
  local package
  for package in "${packages[@]}"; do
    generated+=("clients/go/$package")
  done
}

install_stubs() {
  local directory file
  for directory in "${generated[@]}"; do
    mkdir -p "$directory"
    for file in "$directory"/*; do
      if [ -f "$file" ] && [ ! -e "$out/$file" ]; then
        rm "$file" # its proto is gone
      fi
    done
    cp "$out/$directory"/* "$directory"
  done
  echo "generated: ${generated[*]}"
}

check_stubs() {
  local directory differs=0
  for directory in "${generated[@]}"; do
    diff -r -u --exclude=__pycache__ "$directory" "$out/$directory" || differs=1
  done
  if [ "$differs" = 1 ]; then
    echo "The committed stubs are not what proto/ says. Run 'make proto' and commit the result." >&2
    exit 1
  fi
  echo "up to date: ${generated[*]}"
}

generate_python
mkdir -p "$out/clients/go"
generate_go
case $mode in
  write) install_stubs ;;
  check) check_stubs ;;
esac
