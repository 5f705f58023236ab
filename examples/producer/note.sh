#!/bin/sh
# Writes a small session log through a running daemon, with nothing but curl: begins it, adds an event, reads it back.
#
#   ./note.sh [SESSION]
#
# SESSION becomes a part of the address as it is: letters, digits, `-`, `_` and `.`. Others need percent signs there.
# `expected` is the last seq the writer knows of. Where somebody else wrote meanwhile the answer is 409 and names the real
# one. Events get their ids from the log here; a writer that must be able to send an append again makes its own (ULIDs).
set -eu

session=${1:-note-$(date +%s)}
socket=${HERDBOOK_SOCKET:-${XDG_STATE_HOME:-$HOME/.local/state}/herdbook/sock}
events="http://localhost/v1/sessions/$session/events"

append() {
    curl --silent --show-error --fail-with-body --unix-socket "$socket" \
        --header 'Content-Type: application/json' --data "$1" "$events"
    echo
}

append '{"expected": 0, "events": [{"type": "session.started", "payload": {
    "title": "A note", "projectHash": "0", "workingDirectory": "/tmp", "gitBranch": null,
    "model": "none", "auxModel": "none", "khaelorVersion": "0"}}]}'
append '{"expected": 1, "synced": true, "events": [{"type": "user.message-created", "payload": {
    "text": "Remember the milk", "mentions": []}}]}'

curl --silent --show-error --fail-with-body --unix-socket "$socket" "$events?after=0"
