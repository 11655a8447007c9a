#!/usr/bin/env bash
# The web console: types, lint, and the browser tests.
#
#   tests/console/run.sh BINARY [--long] [--only NAME]     NAME: only the tests whose name contains it
#
# LAZULI_CONSOLE_WEB=crates/console/web takes the page's files from the folder, so that a change needs no rebuild.
set -euo pipefail
. "$(dirname "$0")/../sdk/lib.sh"
here=$repo_dir/tests/console
node_modules console "$here"
installed
"$modules/.bin/tsc" -p "$here"
"$modules/.bin/eslint" -c "$here/eslint.config.js" "$repo_dir/crates/console/web"
binary=$1
shift
node "$here/run.js" --binary "$binary" --modules "$LAZULI_TEST_CACHE/console" --chromium "$(command -v chromium)" "$@"
