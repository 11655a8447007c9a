#!/usr/bin/env bash
# The official Python SDK (azure-data-tables) against LAZULI_ENDPOINT. Arguments go to pytest.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
python_venv sdk-python "$sdk_dir/python/requirements.txt"
cd "$sdk_dir/python"
exec "$venv/bin/python" -m pytest -p no:cacheprovider -q "$@"
