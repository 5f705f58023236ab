#!/usr/bin/env bash
# From a host's bytes to a canonical line of bytes: ours beside the same in JavaScript, in one run.
#
#   benches/projection.sh SHARED
#
# SHARED holds captures/. Needs node and TypeScript (npm ci --prefix clients/ts); takes bun along where it is on PATH.
# Prints ratios with a verdict; exits 0 whatever they are. Ours always makes the idempotency key, so rows "with the key" are like
# with like; the others leave the peers' out. Each row has a run of ours right before: a busy machine has moods.
set -euo pipefail
root=$(dirname "$(cd "$(dirname "$0")" && pwd)")
shared=$(cd "${1:?folder with captures/}" && pwd)
cd "$root"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

bench=$(cargo build --release -q -p herdbook-hosts --bench projection --message-format=json |
  sed -n 's/.*"executable":"\([^"]*projection[^"]*\)".*/\1/p')
clients/ts/node_modules/.bin/tsc -p clients/ts --outDir "$scratch/built"
echo '{"type":"module"}' >"$scratch/built/package.json"
node - "$shared" >"$scratch/envelopes" <<'JS'
const { readFileSync } = require("node:fs");
for (const name of ["claude-2.1.259", "codex-0.147.0", "cursor-3.18.25"]) {
  const lines = readFileSync(`${process.argv[2]}/captures/${name}.ndjson`, "utf8").split("\n").filter(Boolean);
  const seen = lines.map((line) => JSON.parse(line)).filter(({ family }) => family);
  for (const { host, native } of seen) console.log(JSON.stringify({ host, native }));
}
JS
echo "$(wc -l <"$scratch/envelopes") envelopes, in nanoseconds of processor time an event"
for peer in node:8 bun:4; do
  program=${peer%:*} goal=${peer#*:}
  command -v "$program" >/dev/null || { echo "skipped: $program is not here"; continue; }
  for key in "" key; do
    ours=$("$bench" "$scratch/envelopes")
    theirs=$("$program" benches/projection.mjs "$scratch/built" "$scratch/envelopes" $key)
    awk -v p="$program${key:+ with the key}" -v t="$theirs" -v o="$ours" -v g="$goal" \
      'BEGIN { printf "%-18s %6d, ours %6d: %.1f x (goal %d) %s\n", p, t, o, t / o, g, (t / o >= g ? "met" : "MISSED") }'
  done
done
