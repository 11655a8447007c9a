#!/usr/bin/env bash
# The official Python SDKs for tables, queues and blobs, against the server that the environment names.
#
#   tests/sdk/python/run.sh [table|queue|blob] [PYTEST ARGUMENT...]     all three unless one is named
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
python_venv sdk-python "$sdk_dir/python/requirements.txt"
installed
services=(table queue blob)
case ${1:-} in table | queue | blob) services=("$1"); shift ;; esac
status=0
for service in "${services[@]}"; do
  offered "$service" || continue
  echo "-- ${service}s"
  (cd "$sdk_dir/python/$service" && "$venv/bin/python" -m pytest -p no:cacheprovider -q "$@") || status=1
done
exit $status
