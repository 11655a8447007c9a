#!/usr/bin/env bash
# The official JavaScript SDKs for tables, queues and blobs, against the server that the environment names.
#
#   tests/sdk/js/run.sh [table|queue|blob] [TEST FILE...]     all three unless one is named
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
node_modules sdk-js "$sdk_dir/js"
installed
services=(table queue blob)
case ${1:-} in table | queue | blob) services=("$1"); shift ;; esac
status=0
for service in "${services[@]}"; do
  offered "$service" || continue
  echo "-- ${service}s"
  cd "$sdk_dir/js/$service"
  files=("$@")
  [ $# -gt 0 ] || files=(*.test.js)
  NODE_PATH=$modules node --test --test-reporter="$sdk_dir/reporter.js" "${files[@]}" || status=1
done
exit $status
