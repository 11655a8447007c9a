#!/usr/bin/env bash
# Fuzzes every reader of hostile input.
#
#   tests/fuzz.sh [SECONDS] [TARGET...]   so many seconds of processor time each (20 unless told); all targets unless named
#
# Runs on the stable toolchain: without a sanitizer, which the code has no use for, since none of it is unsafe. Starts from
# fuzz/seeds and keeps what it finds on the way in fuzz/corpus-run. An input that fails is left in fuzz/artifacts; put it
# into fuzz/seeds once it is understood.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
shift || true
export LAZULI_TEST_CACHE=${LAZULI_TEST_CACHE:-$PWD/target/test-deps}
export PATH=$PATH:$LAZULI_TEST_CACHE/bin
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --version 0.13.2 --locked --quiet --root "$LAZULI_TEST_CACHE"

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cargo fuzz list)
cargo fuzz build -s none
for target in "${targets[@]}"; do
  mkdir -p "fuzz/corpus-run/$target"
  log=$(mktemp) used=$(mktemp) spent=0 inputs=0
  # libFuzzer counts time on the wall; on a busy machine it is started again until it had its share of the processor.
  while [ "$spent" -lt "$seconds" ]; do
    # An input of 64 KiB that takes seconds is one that takes more than linear time.
    if ! { TIMEFORMAT='%U %S'; time cargo fuzz run -s none "$target" "fuzz/corpus-run/$target" "fuzz/seeds/$target" -- \
      -max_total_time="$((seconds - spent))" -max_len=65536 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 >"$log" 2>&1; } 2>"$used"; then
      tail -60 "$log"
      echo "$target: FAILED" >&2
      exit 1
    fi
    # At least one, so that a target which only waits comes to an end.
    spent=$((spent + $(awk '{ n = int($1 + $2 + 0.5); print (n > 0 ? n : 1) }' "$used")))
    inputs=$((inputs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log")))
  done
  echo "$target: $inputs inputs in $spent s of processor time, nothing found"
  rm -f "$log" "$used"
done
