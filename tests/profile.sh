#!/usr/bin/env bash
# Where the server's processor time goes: profiles of the server under the load of `lazuli bench`, at 64 connections.
#
#   tests/profile.sh                            point read, insert, transaction of 100, scan that keeps nothing
#   tests/profile.sh get                        one of them; any workload of `lazuli bench` will do
#   ENTITIES=1000000 tests/profile.sh get       more than the caches hold, so that blocks are read and unpacked
#
# Prints the operation's cost and the 25 functions with the largest share of their own, after it the shares of the
# kernel and of libraries. The record stays in OUT, for `perf report -g` (who calls what), or a flame graph:
#   perf script -i OUT/get.perf | inferno-collapse-perf | inferno-flamegraph > get.svg
#
# Settings: BINARY (target/release/lazuli), OUT (target/profile), ENTITIES (5000), SECONDS_EACH (6), LINES (25).
# Needs perf, and the right to use it: root, or kernel.perf_event_paranoid of 1 or less.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${BINARY:-target/release/lazuli}
out=${OUT:-target/profile}
seconds=${SECONDS_EACH:-6}
workloads=("$@")
[ $# -gt 0 ] || workloads=(get insert egt scan)
command -v perf >/dev/null || { echo "perf is missing (package linux-perf)" >&2; exit 1; }
[ -x "$binary" ] || cargo build --release
mkdir -p "$out"

# The server that a benchmark measures: its child that serves. Bare servers are children too.
server_of() {
  local child
  for child in $(pgrep -P "$1"); do
    tr '\0' ' ' <"/proc/$child/cmdline" | grep -q ' serve ' && echo "$child" && return
  done
  return 1
}

profile() {
  local name=$1 bench log=$out/$1.log
  "$binary" bench --workload "$name" --slice $((seconds + 2)) --rounds 1 --entities "${ENTITIES:-5000}" \
    >"$out/$name.bench" 2>"$log" &
  bench=$!
  # Told by the benchmark once it has loaded what is to be read.
  until grep -q "^$name: round 1.*lazuli" "$log"; do
    kill -0 $bench 2>/dev/null || { cat "$log" >&2; return 1; }
    sleep 0.1
  done
  perf record -q -g -F 499 -p "$(server_of $bench)" -o "$out/$name.perf" -- sleep "$seconds" 2>/dev/null
  wait $bench
  echo "== $name"
  grep -E '^ *(workload|lazuli|get|insert|egt|scan|[a-z0-9-]+ +lazuli)' "$out/$name.bench" | head -4
  perf report -i "$out/$name.perf" --no-children -g none --sort symbol --stdio 2>/dev/null |
    grep -E '^ +[0-9.]+%' | head -"${LINES:-25}" || true
  perf report -i "$out/$name.perf" --no-children -g none --sort dso --stdio 2>/dev/null |
    grep -E '^ +[0-9.]+%' | head -6 || true
}

for name in "${workloads[@]}"; do
  profile "$name"
done
