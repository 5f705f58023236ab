#!/usr/bin/env bash
# Every speed claim, measured in one run beside a floor and a peer: hook latency, ingest, memory of the daemon, looks at
# transcripts.
#
#   benches/figures.sh SHARED [RUNS]
#
# SHARED holds bench/ (load generator and floors). Prints ratios with a verdict; exits 0 whatever they are, since a
# busy machine is no fault of the code. Loopback only, scratch folders only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
shared=$(cd "${1:?folder with bench/}" && pwd)
runs=${2:-400}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}

cd "$root"
cargo build --release -q -p herdbook-cli -p herdbook-hook
cargo build --release -q -p herdbook-daemon --example transcripts
transcripts=$CARGO_TARGET_DIR/release/examples/transcripts
cp "$CARGO_TARGET_DIR/release/herdbook-hook" "$CARGO_TARGET_DIR/release/herdbook-hook-dynamic"
cargo rustc --release -q -p herdbook-hook --bin herdbook-hook -- -C target-feature=+crt-static
cp "$CARGO_TARGET_DIR/release/herdbook-hook" "$CARGO_TARGET_DIR/release/herdbook-hook-static"
herdbook=$CARGO_TARGET_DIR/release/herdbook
bin=$(CARGO_TARGET_DIR=$root/target/bench "$shared/bench/build.sh")
export PATH=$PATH CARGO_TARGET_DIR=$root/target/bench

scratch=$(mktemp -d)
daemon=0 floor=0
trap 'kill $daemon $floor 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
floor_port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
export HOME=$scratch/home XDG_STATE_HOME=$scratch/state XDG_RUNTIME_DIR=$scratch/run HERDBOOK_ADDR=127.0.0.1:$port
mkdir -p -m 700 "$HOME" "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR"
start() {
  "$herdbook" daemon >/dev/null 2>"$scratch/daemon.log" & daemon=$!
  for _ in $(seq 200); do curl -sf "http://127.0.0.1:$port/status" >/dev/null && return; done
}
start
rss() { awk '/VmRSS/ {printf "%.1f MiB", $2 / 1024}' "/proc/$daemon/status"; }
echo "daemon idle: $(rss) (goal: at most 20 MiB)"

echo; echo "== hook: spawn to exit"
hook=$root/target/release/herdbook-hook
"$shared/bench/hook_latency.sh" -n "$runs" "$hook-static claude" "bash $here/curl_hook.sh $port" \
  "dynamic=$hook-dynamic claude" | tee "$scratch/hook"
# Columns from the right: p99/last p50/last bad rss cpu max p99 p50 min.
row() { awk -v name="$1" 'index($0, name " ") == 1 { print $(NF - 6), $(NF - 7) }' "$scratch/hook"; }
verdict() { awk -v what="$1" -v goal="$2" -v ours="$3" -v theirs="$4" 'BEGIN {
  split(ours, o); split(theirs, t)
  p99 = o[1] / t[1]; p50 = o[2] / t[2]
  printf "%-46s p50 %.2f %s, p99 %.2f %s (goal %s)\n", what, p50, p50 <= goal ? "met" : "MISSED", p99, p99 <= goal ? "met" : "MISSED", goal
}'; }
verdict 'dynamic hook / std client, dynamic' 1.2 "$(row dynamic)" "$(row 'floor: std client')"
verdict 'static hook / std client, static' 1.2 "$(row ours)" "$(row 'floor: std client, static')"
verdict 'dynamic hook / bash and curl' 0.1 "$(row dynamic)" "$(row peer)"
verdict 'static hook / bash and curl' 0.1 "$(row ours)" "$(row peer)"
verdict 'for scale: empty process / bash and curl' 0.1 "$(row 'floor: empty process')" "$(row peer)"

# A daemon of its own: the posted sessions must not share panes with those that the hooks above fed.
kill "$daemon"; wait "$daemon" || true
rm -rf "$XDG_STATE_HOME/herdbook"
start
echo; echo "== ingest: POST /event/normalized against the floor (goal: at least 0.5 at 8 and 32 connections)"
"$bin/ingestfloor" --listen "127.0.0.1:$floor_port" --log "$scratch/floor.log" >/dev/null 2>&1 & floor=$!
python3 "$shared/bench/ingest.py" --loadgen "$bin/loadgen" --url "http://127.0.0.1:$port" \
  --peer-url "http://127.0.0.1:$floor_port" --conns 1,8,32 --seconds 3 --rounds 3 --probe-dir "$scratch" || true
echo; echo "daemon loaded: $(rss) (goal: at most 20 MiB)"
echo; echo "== transcripts: what each second's look costs"
"$transcripts"
