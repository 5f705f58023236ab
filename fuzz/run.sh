#!/usr/bin/env bash
# Fuzzes with libFuzzer and the stable compiler.
#
#   fuzz/run.sh TARGET|all SECONDS       from the committed corpus; "all" runs two targets at a time
#   fuzz/run.sh --minimise TARGET        writes the corpus anew: what covers all that was ever found, and no more
#   fuzz/run.sh --list
#
# FUZZ_SEED=N makes a run that can be had again, as the gate's is; without it each run goes another way.
#
# What was found stays in target/fuzz/found/TARGET, an input that fails in target/fuzz/failed-TARGET-…; the exit code is
# then 1. Run the program on such a file to see it fail again.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=(log cj1 http frame)
target_dir=${CARGO_TARGET_DIR:-$PWD/target}/fuzz

build() {
  # The versions of the product, so that what is fuzzed is what ships.
  [ fuzz/Cargo.lock -nt Cargo.lock ] || cp Cargo.lock fuzz/Cargo.lock
  local coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg=fuzzing)
  local host
  host=$(rustc -vV | sed -n 's/^host: //p')
  # A target by name, even our own, keeps the flags away from build scripts and macros.
  RUSTFLAGS="${coverage[*]}" CARGO_TARGET_DIR=$target_dir \
    cargo build --release --quiet --manifest-path fuzz/Cargo.toml --target "$host"
  bin=$target_dir/$host/release
}

fuzz() {
  local found=$target_dir/found/$1
  mkdir -p "$found" "fuzz/corpus/$1"
  if ! "$bin/$1" -max_total_time="$2" -seed="${FUZZ_SEED:-0}" -timeout=10 -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix="$target_dir/failed-$1-" "$found" "fuzz/corpus/$1" >"$target_dir/$1.log" 2>&1; then
    tail -n 40 "$target_dir/$1.log"
    echo "fuzz $1: FAILED; run $bin/$1 on the file named above"
    return 1
  fi
  echo "fuzz $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$target_dir/$1.log") runs in $2 s, nothing found"
}

minimise() {
  local new
  new=$(mktemp -d)
  "$bin/$1" -merge=1 -max_len=8192 "$new" "fuzz/corpus/$1" "$target_dir/found/$1" 2>&1 | tail -n 1
  rm -rf "fuzz/corpus/$1"
  mv "$new" "fuzz/corpus/$1"
}

case ${1:-} in
--list) printf '%s\n' "${targets[@]}" ;;
--minimise) build && minimise "${2:?TARGET}" ;;
all)
  build
  failed=0
  for ((at = 0; at < ${#targets[@]}; at += 2)); do
    pids=()
    for name in "${targets[@]:at:2}"; do
      fuzz "$name" "${2:?SECONDS}" &
      pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  done
  exit $failed
  ;;
*) build && fuzz "${1:?TARGET}" "${2:?SECONDS}" ;;
esac
