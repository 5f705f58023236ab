#!/usr/bin/env bash
# What reading and writing session logs costs, each figure a ratio in one run: `log ls` beside wc, `log replay` beside
# duckdb and jq, appends by 32 writers beside the group commit of fsyncbench, opening 200 MB to append.
#
#   benches/log.sh SHARED [RUNS]
#
# SHARED holds bench/ (the generator of logs, floors). Needs python3 and jq; duckdb comes from PyPI where pip can fetch it.
# Prints ratios of medians with a verdict; exits 0 whatever they are, since a busy machine is no fault of the code.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
shared=$(cd "${1:?folder with bench/}" && pwd)
runs=${2:-7}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}

cd "$root"
cargo build --release -q -p herdbook-cli --bin herdbook
cargo build --release -q -p herdbook-log --example session_speed --example seal
bin=$(CARGO_TARGET_DIR=$CARGO_TARGET_DIR/bench "$shared/bench/build.sh")

scratch=$(mktemp -d -p "$CARGO_TARGET_DIR")
trap 'rm -rf "$scratch"' EXIT
log=$scratch/session.jsonl
python3 "$shared/bench/gen_session.py" "$log" --bytes 200M >/dev/null
# The same log with checksums, as the store writes it.
"$CARGO_TARGET_DIR/release/examples/seal" <"$log" >"$scratch/sealed.jsonl"
peers=()
python3 -c 'import duckdb' 2>/dev/null || pip install -q duckdb 2>/dev/null || true
if python3 -c 'import duckdb' 2>/dev/null; then
  cat >"$scratch/duck.py" <<'PY'
import sys, duckdb
columns = "{'v':'BIGINT','id':'VARCHAR','sessionId':'VARCHAR','seq':'BIGINT','ts':'BIGINT','type':'VARCHAR','payload':'JSON'}"
rows = duckdb.sql(f"select type, count(*) from read_json('{sys.argv[1]}', format='newline_delimited', columns={columns}) group by type order by type")
print(rows.fetchall())
PY
  peers+=("duckdb=python3 $scratch/duck.py $log" "duckdb-sealed=python3 $scratch/duck.py $scratch/sealed.jsonl")
else
  echo 'skipped: duckdb: pip cannot fetch it'
fi
command -v jq >/dev/null && peers+=("jq=jq -c .type $log" "jq-sealed=jq -c .type $scratch/sealed.jsonl")
python3 "$here/turns.py" "$runs" "wc=wc -l $log" "ls=$CARGO_TARGET_DIR/release/herdbook log ls $log" \
  "replay=$CARGO_TARGET_DIR/release/herdbook log replay $log" \
  "sealed=$CARGO_TARGET_DIR/release/herdbook log replay $scratch/sealed.jsonl" "${peers[@]}" \
  -- 'ls/wc<=3' 'duckdb/replay>=3' 'jq/replay>=10' 'duckdb-sealed/sealed>=3' 'jq-sealed/sealed>=10' 'MiB ls<=64' 'MiB replay<=64' 'MiB sealed<=64'

echo; echo '== appends and opening (goals: append at least 0.5 of the floor, opening at most 20 ms)'
"$bin/fsyncbench" --dir "$scratch" --seconds 1 | grep ' 32 writers'
"$CARGO_TARGET_DIR/release/examples/session_speed" "$scratch"
