#!/usr/bin/env bash
# PyPI azure-cosmosdb-table 1.0.6 (JSON) against LAZULI_TABLE_ENDPOINT. Arguments go to pytest.
set -euo pipefail
. "$(dirname "$0")/../../lib.sh"
python_venv sdk-py-cosmosdb "$sdk_dir/legacy/py-cosmosdb/requirements.txt"
installed
cd "$sdk_dir/legacy/py-cosmosdb"
exec "$venv/bin/python" -m pytest -c "$sdk_dir/legacy/pytest.ini" --rootdir=. -p no:cacheprovider -q "$@"
