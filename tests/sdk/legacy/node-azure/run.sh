#!/usr/bin/env bash
# npm azure 0.8.1 (Atom) against LAZULI_TABLE_ENDPOINT. Arguments are test files; default: all.
set -euo pipefail
. "$(dirname "$0")/../../lib.sh"
node_modules sdk-node-azure "$sdk_dir/legacy/node-azure"
installed
cd "$sdk_dir/legacy/node-azure"
[ $# -gt 0 ] || set -- *.test.js
# What these clients use is deprecated, and still there.
NODE_PATH=$modules exec node --no-deprecation --test --test-reporter="$sdk_dir/reporter.js" "$@"
