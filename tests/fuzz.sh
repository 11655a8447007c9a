#!/usr/bin/env bash
# Fuzzes every reader of hostile input, two targets at a time.
#
#   tests/fuzz.sh [SECONDS] [TARGET...]   processor time per target (20 unless given); all targets unless named
#
# Runs on the stable toolchain: without a sanitizer, which the code has no use for, since none of it is unsafe. Starts from
# fuzz/seeds and keeps new inputs in fuzz/corpus-run. An input that fails is left in fuzz/artifacts; put it into fuzz/seeds
# once it is understood.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
shift || true
export LAZULI_TEST_CACHE=${LAZULI_TEST_CACHE:-$PWD/target/test-deps}
export PATH=$PATH:$LAZULI_TEST_CACHE/bin
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --version 0.13.2 --locked --quiet --root "$LAZULI_TEST_CACHE"

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cargo fuzz list)
# A short run spends more on optimising than it gains by it.
[ "$seconds" -ge 20 ] || export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=0
build_log=$(mktemp)
cargo fuzz build -s none >"$build_log" 2>&1 || { cat "$build_log"; exit 1; }
rm -f "$build_log"
programs=fuzz/target/$(rustc -vV | sed -n 's/^host: //p')/release

fuzz_target() { # TARGET
  local target=$1 log used spent=0 inputs=0
  mkdir -p "fuzz/corpus-run/$target" "fuzz/artifacts/$target"
  log=$(mktemp) used=$(mktemp)
  # libFuzzer counts time on the wall; on a busy machine it is started again until it had its share of the processor.
  while [ "$spent" -lt "$seconds" ]; do
    # An input of 64 KiB that takes seconds is one that takes more than linear time.
    if ! { TIMEFORMAT='%U %S'; time "$programs/$target" -artifact_prefix="fuzz/artifacts/$target/" "fuzz/corpus-run/$target" "fuzz/seeds/$target" \
      -max_total_time="$((seconds - spent))" -max_len=65536 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 >"$log" 2>&1; } 2>"$used"; then
      tail -60 "$log"
      echo "$target: FAILED; the input is in fuzz/artifacts/$target"
      return 1
    fi
    # At least one, so that a target which only waits comes to an end.
    spent=$((spent + $(awk '{ n = int($1 + $2 + 0.5); print (n > 0 ? n : 1) }' "$used")))
    inputs=$((inputs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log")))
  done
  echo "$target: $inputs inputs in $spent s of processor time, nothing found"
  rm -f "$log" "$used"
}
export -f fuzz_target
export seconds programs
# `xargs` ends with an error if a target failed.
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} bash -uo pipefail -c 'fuzz_target {}'
