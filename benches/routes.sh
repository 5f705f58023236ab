#!/usr/bin/env bash
# What a route costs its host: the hook where no route is for the call, where one does nothing, and that program's own start,
# all in one run. Goal: hook with a no-op route at most hook without + 1.5 x the program's own start.
#
#   benches/routes.sh SHARED [RUNS]
#
# SHARED holds bench/ (spawn bench and payloads). Exits 0 whatever comes out, since a busy machine is no fault of the
# code. Scratch folders only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
shared=$(cd "${1:?folder with bench/}" && pwd)
runs=${2:-400}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
profile=${PROFILE:-release}

cd "$root"
cargo build --profile "$profile" -q -p herdbook-cli -p herdbook-hook
built=$CARGO_TARGET_DIR/$([ "$profile" = dev ] && echo debug || echo "$profile")
bin=$(CARGO_TARGET_DIR=$root/target/bench "$shared/bench/build.sh")

scratch=$(mktemp -d)
daemon=0
trap 'kill $daemon 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
export HOME=$scratch/home XDG_STATE_HOME=$scratch/state XDG_CONFIG_HOME=$scratch/config XDG_RUNTIME_DIR=$scratch/run
mkdir -p -m 700 "$HOME" "$XDG_STATE_HOME/herdbook" "$XDG_RUNTIME_DIR"
routes=$XDG_CONFIG_HOME/herdbook/routes/tool/before
mkdir -p -m 755 "$routes"
printf '#!/bin/sh\nexit 0\n' >"$routes/shell"
printf 'hosts = ["codex"]\n' >"$routes/shell.toml"
cp "$bin/null" "$routes/tiny"
printf 'hosts = ["copilot"]\n' >"$routes/tiny.toml"
chmod 755 "$routes/shell" "$routes/tiny"
chmod 644 "$routes"/*.toml
# A person does this by `herdbook route trust`, which asks.
python3 - "$routes" "$XDG_STATE_HOME/herdbook/trusted-routes.json" <<'PY'
import hashlib, json, pathlib, struct, sys
routes = {}
for name in ("shell", "tiny"):
    parts = [pathlib.Path(sys.argv[1], name + end).read_bytes() for end in ("", ".toml")]
    whole = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    routes["tool/before/" + name] = hashlib.sha256(whole).hexdigest()
pathlib.Path(sys.argv[2]).write_text(json.dumps({"format": 1, "routes": routes}))
PY
chmod 600 "$XDG_STATE_HOME/herdbook/trusted-routes.json"
HERDBOOK_ADDR=127.0.0.1:0 "$built/herdbook" daemon >/dev/null 2>"$scratch/daemon.log" & daemon=$!
for _ in $(seq 500); do [ -S "$XDG_RUNTIME_DIR/herdbook/sock" ] && break; sleep .02; done

python3 "$shared/bench/payloads.py" "$scratch/payloads"
hook=$built/herdbook-hook
"$bin/spawnbench" -n "$runs" --payload "$scratch/payloads/pretool.json" \
  -c "start of the shell route=$routes/shell" -c "start of the tiny route=$routes/tiny" \
  -c "hook, shell route=$hook codex" -c "hook, tiny route=$hook copilot" \
  -c "ours=$hook claude" -c "peer=$hook claude" | tee "$scratch/figures"
row() { awk -v name="$1" 'index($0, name " ") == 1 { print $(NF - 6), $(NF - 7) }' "$scratch/figures"; }
verdict() { awk -v what="$1" -v with="$2" -v without="$3" -v start="$4" 'BEGIN {
  split(with, w); split(without, o); split(start, s)
  for (at = 2; at >= 1; at--) {
    costs = (w[at] - o[at]) / s[at]
    printf "%s: a no-op route costs %.2f of its own start at %s: %s (goal 1.5)\n", what, costs, at == 2 ? "p50" : "p99", costs <= 1.5 ? "met" : "MISSED"
  }
}'; }
verdict shell "$(row 'hook, shell route')" "$(row ours)" "$(row 'start of the shell route')"
verdict tiny "$(row 'hook, tiny route')" "$(row ours)" "$(row 'start of the tiny route')"
curl -sf --unix-socket "$XDG_RUNTIME_DIR/herdbook/sock" http://localhost/v1/routes |
  python3 -c 'import json, sys
for route in json.load(sys.stdin)["items"]:
    print(route["id"], route["state"], "runs", route["runs"], "failed", route["failed"], "p50", route["p50_us"], "us, p99", route["p99_us"], "us")'
