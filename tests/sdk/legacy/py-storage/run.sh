#!/usr/bin/env bash
# PyPI azure-storage 0.20.3 (Atom) against LAZULI_TABLE_ENDPOINT. Arguments go to pytest.
set -euo pipefail
. "$(dirname "$0")/../../lib.sh"
python_venv sdk-py-storage "$sdk_dir/legacy/py-storage/requirements.txt"
installed
cd "$sdk_dir/legacy/py-atom"
exec "$venv/bin/python" -m pytest -c "$sdk_dir/legacy/pytest.ini" --rootdir=. -p no:cacheprovider -q "$@"
