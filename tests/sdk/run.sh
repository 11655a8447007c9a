#!/usr/bin/env bash
# Runs end-to-end suites with clients that others wrote, against the server at LAZULI_ENDPOINT.
#
#   tests/sdk/run.sh SUITE...|all
#
# Suites: python js azcli (official SDKs and command line), node-azure node-storage-0 node-storage-2 py-azure py-storage
# py-cosmosdb (old clients), mono (ADO.NET Data Services). See README.md for the environment.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

suites=()
for name in "$@"; do
  if [ "$name" = all ]; then
    suites+=(python js azcli node-azure node-storage-0 node-storage-2 py-azure py-storage py-cosmosdb mono)
  else
    suites+=("$name")
  fi
done
[ ${#suites[@]} -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }

command_of() {
  case $1 in
    python | js | azcli | mono) echo "$sdk_dir/$1/run.sh" ;;
    node-azure | node-storage-0 | node-storage-2 | py-azure | py-storage | py-cosmosdb) echo "$sdk_dir/legacy/$1/run.sh" ;;
    *) return 1 ;;
  esac
}

[ -z "$LAZULI_SKIP" ] || echo "left out by LAZULI_SKIP: $LAZULI_SKIP"
summary=() failed=0
for suite in "${suites[@]}"; do
  command=$(command_of "$suite") || { echo "unknown suite: $suite" >&2; exit 2; }
  echo "== $suite against $LAZULI_ENDPOINT"
  started=$(date +%s)
  if "$command"; then outcome=passed; else outcome=FAILED failed=1; fi
  summary+=("$(printf '%-16s %-6s %4d s' "$suite" "$outcome" $(($(date +%s) - started)))")
done
echo "== summary"
printf '%s\n' "${summary[@]}"
exit $failed
