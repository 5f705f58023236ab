#!/usr/bin/env bash
# The hook that people write today: bash and curl, one POST a call. A peer for the bench, not part of the product.
payload=$(cat)
curl -s -m 5 -X POST "http://127.0.0.1:${1:?port}/event" -H 'Content-Type: application/json' \
  -H "X-Tmux-Pane: ${TMUX_PANE:-%0}" -d "$payload" >/dev/null 2>&1 || true
