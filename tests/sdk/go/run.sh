#!/usr/bin/env bash
# The official Go SDKs (aztables, azqueue, azblob) against the server that the environment names. Arguments go to `go test`.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
command -v go >/dev/null || { echo "SKIPPED: Go is not installed"; exit 0; }
# What is built stays in the cache; modules too, unless the machine has a module cache of its own.
export GOCACHE=$LAZULI_TEST_CACHE/go-build GOFLAGS="-mod=readonly -buildvcs=false"
program=$LAZULI_TEST_CACHE/sdk-go.test
cd "$sdk_dir/go"
(flock 9; go test -c -o "$program" .) 9>"$program.lock"
installed
exec "$program" -test.timeout 10m "$@"
