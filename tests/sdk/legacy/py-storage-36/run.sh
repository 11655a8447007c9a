#!/usr/bin/env bash
# PyPI azure-storage 0.36.0 (queues and blobs, 2017-04-17) against the server that the environment names. Arguments go to pytest.
set -euo pipefail
. "$(dirname "$0")/../../lib.sh"
python_venv sdk-py-storage-36 "$sdk_dir/legacy/py-storage-36/requirements.txt"
installed
files=()
! offered queue || files+=(test_queues.py)
! offered blob || files+=(test_blobs.py)
[ ${#files[@]} -gt 0 ] || exit 0
cd "$sdk_dir/legacy/py-storage-new"
exec "$venv/bin/python" -m pytest -c "$sdk_dir/legacy/pytest.ini" --rootdir=. -p no:cacheprovider -q "${files[@]}" "$@"
