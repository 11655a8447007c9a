#!/usr/bin/env bash
# Runs end-to-end suites with third-party clients (FW-08), against the server that the environment names.
#
#   tests/sdk/run.sh SUITE...
#
# Suites: python js go java azcli (official SDKs and command line), own (the tests of the SDKs themselves), mono (ADO.NET
# Data Services), the old clients by name or all together as `legacy`, and `all`. See README.md for the environment.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

legacy=(node-azure node-storage-0 node-storage-2 py-azure-0 py-azure py-storage py-storage-36 py-storage-2 py-cosmosdb)
suites=()
for name in "$@"; do
  case $name in
    legacy) suites+=("${legacy[@]}") ;;
    all) suites+=(python js go java azcli own "${legacy[@]}" mono) ;;
    *) suites+=("$name") ;;
  esac
done
[ ${#suites[@]} -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }

command_of() {
  case " ${legacy[*]} " in *" $1 "*) echo "$sdk_dir/legacy/$1/run.sh"; return ;; esac
  [ -x "$sdk_dir/$1/run.sh" ] && echo "$sdk_dir/$1/run.sh"
}

[ -z "$LAZULI_SKIP" ] || echo "left out by LAZULI_SKIP: $LAZULI_SKIP"
summary=() failed=0
for suite in "${suites[@]}"; do
  command=$(command_of "$suite") || { echo "unknown suite: $suite" >&2; exit 2; }
  echo "== $suite"
  started=$(date +%s)
  if "$command"; then outcome=passed; else outcome=FAILED failed=1; fi
  summary+=("$(printf '%-16s %-6s %4d s' "$suite" "$outcome" $(($(date +%s) - started)))")
done
[ ${#suites[@]} = 1 ] || { echo "== summary"; printf '%s\n' "${summary[@]}"; }
exit $failed
