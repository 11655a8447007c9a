#!/usr/bin/env bash
# PyPI azure 0.8.4 (Atom, 2012-02-12) against LAZULI_TABLE_ENDPOINT: tables only. Arguments go to pytest.
set -euo pipefail
. "$(dirname "$0")/../../lib.sh"
python_venv sdk-py-azure-0 "$sdk_dir/legacy/py-azure-0/requirements.txt"
installed
cd "$sdk_dir/legacy/py-atom"
exec "$venv/bin/python" -m pytest -c "$sdk_dir/legacy/pytest.ini" --rootdir=. -p no:cacheprovider -q \
  --ignore test_blobs.py --ignore test_queues.py "$@"
