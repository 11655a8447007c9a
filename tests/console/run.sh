#!/usr/bin/env bash
# The web console: types, lint, and the browser tests.
#
#   tests/console/run.sh BINARY [--long] [--only NAME]     NAME: only the tests whose name contains it
#   tests/console/run.sh BINARY --measure                  how fast pages open, and what an idle one costs, instead of the tests
#   tests/console/run.sh BINARY --pictures [DIR]           takes the pictures of docs/console
#
# LAZULI_CONSOLE_WEB=crates/console/web takes the page's files from the folder, so that a change needs no rebuild.
set -euo pipefail
. "$(dirname "$0")/../sdk/lib.sh"
here=$repo_dir/tests/console
node_modules console "$here"
installed
binary=$1
shift
common=(--binary "$binary" --modules "$LAZULI_TEST_CACHE/console" --chromium "$(command -v chromium)")
[ "${1:-}" != --measure ] || exec node "$here/measure.js" "${common[@]}" "${@:2}"
[ "${1:-}" != --pictures ] || exec node "$here/pictures.js" "${common[@]}" --to "${2:-$repo_dir/docs/console}"
"$modules/.bin/tsc" -p "$here"
"$modules/.bin/eslint" -c "$here/eslint.config.js" "$repo_dir/crates/console/web"
node "$here/run.js" "${common[@]}" "$@"
