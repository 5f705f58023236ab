#!/usr/bin/env bash
# Plays scenarios of real clients: run.sh SHARED [argument of herdbook-truth...]
#
# Clients come from npm, whose packages run scripts when they are installed, and the daemon serves no other uid. So
# where this is run by root, client, hooks, daemon and driver all run as one user that may do nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
shared=$(realpath "${1:?run.sh SHARED [argument...]}")
shift
user=herdbook-truth
hosts=(claude codex gemini)
case " $* " in
  *" --all "* | *" --harm "* | *" --latency "* | *" --forms "* | *" --routes "* | *" copilot-"* | *" opencode-"*) hosts+=(copilot opencode) ;;
esac

cargo build --release --locked -p herdbook-cli -p herdbook-hook -p herdbook-truth
target=$(cargo metadata --no-deps --format-version 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

# A place of its own: the checkout and the reference need not be open to that user, and a socket's path must be short.
place=/var/tmp/truth-$(id -u)
# Clients show and tell their model where they work: our name may not be in it.
out=/var/tmp/truth-out-$(id -u)
as=()
if [ "$(id -u)" = 0 ]; then
  id -u $user >/dev/null 2>&1 || useradd --system --user-group --no-create-home --home-dir $place/home --shell /bin/sh $user
  as=(setpriv --reuid=$user --regid=$user --clear-groups --no-new-privs --inh-caps=-all env -u XDG_RUNTIME_DIR HOME=$place/home)
fi
mkdir -p "$place"
rm -rf "$place/bin" "$place/shared" "$place/out" "$out"
mkdir -p "$place"/{bin,shared/real-cases,home,clients} "$out"
cp "$target"/release/{herdbook,herdbook-hook,herdbook-truth} "$place/bin"
cp -r "$shared/tools" "$place/shared"
for truth in "$shared"/real-cases/*/truth.json; do
  case=$(basename "$(dirname "$truth")")
  mkdir "$place/shared/real-cases/$case"
  cp "$truth" "$place/shared/real-cases/$case"
done
chmod -R u+w "$place/shared"
chmod 700 "$place" "$out"
[ ${#as[@]} -eq 0 ] || chown -R $user: "$place" "$out"

cd "$place"
path=()
case " $* " in
  *" --routes "*)
    # An example is TypeScript as it stands, which node runs from 22.18 on.
    if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b > 17) ? 0 : 1)'; then
      "${as[@]}" npm install --prefix "$place/clients/node" --no-audit --no-fund --loglevel=error node@24 >/dev/null
      path=(--path "$place/clients/node/node_modules/.bin:/usr/local/bin:/usr/bin:/bin")
    fi ;;
esac
"${as[@]}" bash "$place/shared/tools/real_clients.sh" install "$place/clients" "${hosts[@]}"
exec "${as[@]}" "$place/bin/herdbook-truth" --shared "$place/shared" --clients "$place/clients" --out "$out" \
  --programs "$place/bin" "${path[@]}" "$@"
