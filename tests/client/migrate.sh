#!/usr/bin/env bash
# Moves the data of a real Azurite, which it installs, to a server: tests/client/migrate.sh BINARY. See migrate.py.
set -uo pipefail
cd "$(dirname "$0")/../.."
version=3.35.0
cache=${LAZULI_TEST_CACHE:-$PWD/target/test-deps}
modules=$cache/azurite-$version
[ -d "$modules/node_modules/azurite" ] ||
  npm install --silent --no-audit --no-fund --no-save --prefix "$modules" "azurite@$version" || exit
exec "$cache/sdk-python/bin/python" tests/client/migrate.py --binary "$1" --azurite "$modules/node_modules/azurite"
