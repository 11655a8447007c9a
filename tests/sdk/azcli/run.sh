#!/usr/bin/env bash
# The command line of Azure (azure-cli) against LAZULI_TABLE_ENDPOINT. Arguments go to pytest.
#
# It depends on more than a hundred packages, for modules that have nothing to do with storage. Only what its storage module
# imports is installed, and only that module is kept: less than 100 MiB, and less than half a minute.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

fill_azcli() {
  python3 -m venv "$1" && "$1/bin/pip" install --no-deps --no-compile -r "$2"
  find "$1"/lib/python*/site-packages/azure/cli/command_modules -mindepth 1 -maxdepth 1 -type d ! -name storage -exec rm -rf {} +
}

venv=$LAZULI_TEST_CACHE/sdk-azcli
requirements=$sdk_dir/azcli/requirements.txt
cached "$venv" "$requirements" -- fill_azcli "$venv" "$requirements"
installed
cd "$sdk_dir/azcli"
# Modules are compiled at their first use, into the cache, since most are never used.
export PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$venv/pycache
exec "$venv/bin/python" -m pytest -p no:cacheprovider -q "$@"
