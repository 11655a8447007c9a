#!/usr/bin/env bash
# The official JavaScript SDK (@azure/data-tables) against LAZULI_ENDPOINT. Arguments are test files; default: all.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
node_modules sdk-js "$sdk_dir/js"
cd "$sdk_dir/js"
[ $# -gt 0 ] || set -- *.test.js
NODE_PATH=$modules exec node --test --test-reporter="$sdk_dir/reporter.js" "$@"
