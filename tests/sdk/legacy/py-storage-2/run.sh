#!/usr/bin/env bash
# PyPI azure-storage-queue and azure-storage-blob 2.1.0 (2018-03-28 and 2018-11-09) against the server that the environment names. Arguments go to pytest.
set -euo pipefail
. "$(dirname "$0")/../../lib.sh"
python_venv sdk-py-storage-2 "$sdk_dir/legacy/py-storage-2/requirements.txt"
installed
files=()
! offered queue || files+=(test_queues.py)
! offered blob || files+=(test_blobs.py)
[ ${#files[@]} -gt 0 ] || exit 0
cd "$sdk_dir/legacy/py-storage-new"
exec "$venv/bin/python" -m pytest -c "$sdk_dir/legacy/pytest.ini" --rootdir=. -p no:cacheprovider -q "${files[@]}" "$@"
