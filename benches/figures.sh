#!/usr/bin/env bash
# Every speed claim, measured in one run beside a floor and a peer: hook latency, ingest, memory of the daemon.
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
"$herdbook" daemon 2>"$scratch/daemon.log" & daemon=$!
for _ in $(seq 200); do curl -sf "http://127.0.0.1:$port/status" >/dev/null && break; done
rss() { awk '/VmRSS/ {printf "%.1f MiB", $2 / 1024}' "/proc/$daemon/status"; }
echo "daemon idle: $(rss) (goal: at most 20 MiB)"

echo; echo "== hook: spawn to exit, against the std-only client (goal p50 and p99: at most 1.2)"
hook=$root/target/release/herdbook-hook
"$shared/bench/hook_latency.sh" -n "$runs" "$hook-dynamic claude" "$bin/uclient $scratch/u" "static=$hook-static claude" 2>/dev/null || true
echo; echo "== hook: against bash and curl (goal: at most 0.1)"
"$shared/bench/hook_latency.sh" -n "$((runs / 2))" "$hook-static claude" "bash $here/curl_hook.sh $port" "dynamic=$hook-dynamic claude"

echo; echo "== ingest: POST /event/normalized against the floor (goal: at least 0.5 at 8 and 32 connections)"
"$bin/ingestfloor" --listen "127.0.0.1:$floor_port" --log "$scratch/floor.log" >/dev/null 2>&1 & floor=$!
python3 "$shared/bench/ingest.py" --loadgen "$bin/loadgen" --url "http://127.0.0.1:$port" \
  --peer-url "http://127.0.0.1:$floor_port" --conns 1,8,32 --seconds 3 --rounds 3 --probe-dir "$scratch" || true
echo; echo "daemon loaded: $(rss) (goal: at most 20 MiB)"
