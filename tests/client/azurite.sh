#!/usr/bin/env bash
# Runs the Rust client's cases against Azurite, which it installs and starts: those of crates/client/tests that run
# elsewhere. What Azurite cannot do stands in crates/client/tests/client/support.rs, with the reasons.
set -uo pipefail
cd "$(dirname "$0")/../.."
version=3.35.0
port=${LAZULI_AZURITE_PORT:-11702}
modules=${LAZULI_TEST_CACHE:-$PWD/target/test-deps}/azurite-$version
[ -d "$modules/node_modules/azurite" ] ||
  npm install --silent --no-audit --no-fund --no-save --prefix "$modules" "azurite@$version" || exit

log=$(mktemp)
node "$modules/node_modules/azurite/dist/src/table/main.js" --inMemoryPersistence --silent --disableTelemetry \
  --tableHost 127.0.0.1 --tablePort "$port" >"$log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; rm -f "$log"' EXIT
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
  kill -0 $pid 2>/dev/null || { cat "$log"; exit 1; }
  sleep 0.05
done
LAZULI_CLIENT_ENDPOINT=http://127.0.0.1:$port/devstoreaccount1 \
  cargo test --quiet --workspace --test client elsewhere # the workspace, so that nothing is built twice
