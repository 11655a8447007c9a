#!/usr/bin/env bash
# The tests that belong to the official Python SDKs, from their source packages, against the server that the environment names.
#
#   tests/sdk/own/run.sh [table|queue|blob] [PYTEST ARGUMENT...]     all unless one is named
#
# The packages are fetched into the cache; nothing of them is kept here. `devtools_testutils` stands in for the framework that is
# not in them. The tests use the addresses of Azure, over TLS, which lead to the server. It needs the files that keys.py writes into
# $LAZULI_OWN_KEYS: see `own_tests` in tests/run. Exceptions are listed in table.txt, queue.txt and blob.txt, each with its reason.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
own=$sdk_dir/own
table_version=12.7.0 queue_version=12.18.1 blob_version=12.31.1

# Only the archive is wanted: pip would prepare the build of the package first.
fetch_source() { # DIR PACKAGE VERSION
  "$venv/bin/python" "$own/fetch.py" "$2" "$3" | tar -xz -C "$1" --strip-components=1
}
python_venv sdk-own "$own/requirements.txt"
services=(table queue blob)
case ${1:-} in table | queue | blob) services=("$1"); shift ;; esac
package() { case $1 in table) echo azure-data-tables ;; *) echo "azure-storage-$1" ;; esac; }
for service in "${services[@]}"; do
  version=${service}_version folder=$LAZULI_TEST_CACHE/own-$service-
  cached "$folder${!version}" "$own/fetch.py" -- fetch_source "$folder${!version}" "$(package $service)" "${!version}"
done
installed

status=0
for service in "${services[@]}"; do
  offered "$service" || continue
  version=${service}_version
  echo "-- $(package "$service") ${!version}"
  (
    cd "$LAZULI_TEST_CACHE/own-$service-${!version}/tests"
    export PYTHONPATH=$own LAZULI_OWN_EXCEPTIONS=$own/$service.txt SSL_CERT_FILE=$LAZULI_OWN_KEYS/ca.pem REQUESTS_CA_BUNDLE=$LAZULI_OWN_KEYS/ca.pem
    [ "$service" != table ] || export LAZULI_OWN_IMPATIENT=1
    "$venv/bin/python" -m pytest -p plugin -p no:cacheprovider -q -rfE --tb=short --assert=plain --rootdir=. -W ignore \
      "$@"
  ) || status=1
done
exit $status
