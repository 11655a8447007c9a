#!/usr/bin/env bash
# npm azure-storage 0.4.5 (JSON requests, Atom and JSON responses) against LAZULI_TABLE_ENDPOINT. Arguments are test files; default: all.
set -euo pipefail
. "$(dirname "$0")/../../lib.sh"
node_modules sdk-node-storage-0 "$sdk_dir/legacy/node-storage-0"
installed
cd "$sdk_dir/legacy/node-storage"
[ $# -gt 0 ] || set -- *.test.js
# What these clients use is deprecated, and still there.
NODE_PATH=$modules exec node --no-deprecation --test --test-reporter="$sdk_dir/reporter.js" "$@"
