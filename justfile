# What people run here. `just` alone lists it.

_list:
    @just --list --unsorted

# Build everything
build:
    cargo build --workspace

# Run every test
test:
    cargo test --workspace

# Run every test with the slow ones at full size (kills, many writers, long fuzzing)
test-slow:
    HERDBOOK_TEST_SLOW=1 cargo test --workspace --release

# Check formatting and lints, as the gate does
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Format the code
fmt:
    cargo fmt --all

# See it work, without an agent
demo:
    cargo run --release -- demo

# Build what is installed: the command, and the hook as one static file
dist:
    cargo build --release -p herdbook-cli --bin herdbook
    cargo rustc --release -p herdbook-hook --bin herdbook-hook -- -C target-feature=+crt-static

# Measure the hook, ingest, memory and looks at transcripts beside their floors and peers, as ratios
bench shared=env("HERDBOOK_SHARED", "../shared") runs="400":
    benches/figures.sh {{shared}} {{runs}}

# Measure what looking at 200 panes costs, beside what tmux itself can do: needs tmux and python3
bench-panes shared=env("HERDBOOK_SHARED", "../shared") seconds="20":
    cargo build --release -q -p herdbook-cli -p herdbook-hook
    python3 benches/panes.py {{shared}} "${CARGO_TARGET_DIR:-target}/release/herdbook" "${CARGO_TARGET_DIR:-target}/release/herdbook-hook" --seconds {{seconds}}

# Measure what a route that does nothing costs a hook, beside that program's own start
bench-routes shared=env("HERDBOOK_SHARED", "../shared") runs="400":
    benches/routes.sh {{shared}} {{runs}}

# Measure projection beside node and bun, as ratios
bench-projection shared=env("HERDBOOK_SHARED", "../shared"):
    benches/projection.sh {{shared}}

# Measure reading and writing session logs beside wc, duckdb, jq and the group commit of fsyncbench, as ratios
bench-log shared=env("HERDBOOK_SHARED", "../shared") runs="7":
    benches/log.sh {{shared}} {{runs}}

# Play real clients and count seconds of wrong state, for each source that could know: just truth [SCENARIO...]
truth *scenarios="--all":
    crates/truth/run.sh "${HERDBOOK_SHARED:-../shared}" {{scenarios}}

# Remove the hook, stop and freeze the daemon under real clients, and see that none is harmed: just harm [SCENARIO...]
harm *scenarios:
    crates/truth/run.sh "${HERDBOOK_SHARED:-../shared}" --harm {{scenarios}}

# Tell each real client each form of an answer, and see that it does what the tables say: just forms-live [HOST-EVENT...]
forms-live *forms:
    crates/truth/run.sh "${HERDBOOK_SHARED:-../shared}" --forms {{forms}}

# Play real clients with routes that deny, ask, tell, crash and hang, and answer from elsewhere: just routes-live [HOST:...]
routes-live *acts:
    crates/truth/run.sh "${HERDBOOK_SHARED:-../shared}" --routes {{acts}}

# Measure what our hooks add to each step of the real clients; medians, and still best on an idle machine
bench-clients *clients:
    crates/truth/run.sh "${HERDBOOK_SHARED:-../shared}" --latency {{clients}}

# Run conformance cases: just conformance DIR...
conformance +dirs:
    cargo run --release -p herdbook-conformance -- run {{dirs}}

# Write the generated files anew: the reference, the schema, the TypeScript types and tables
generate:
    cargo build -p herdbook-cli
    cargo run -q -p herdbook-cli -- reference > docs/reference/events.md
    cargo run -q -p herdbook-cli -- reference --format json > docs/reference/events.json
    cargo run -q -p herdbook-cli -- schema --lang json-schema > docs/reference/events.schema.json
    cargo run -q -p herdbook-cli -- schema --lang ts > clients/ts/src/events.ts
    cargo run -q -p herdbook-cli -- schema --lang ts-tables > clients/ts/src/tables.ts
    cargo run -q -p herdbook-cli -- schema --lang session-ts > clients/ts/src/session-events.ts
    cargo run -q -p herdbook-cli -- schema --lang session-json-schema > docs/reference/session-events.schema.json

# Fuzz one target, or "all", for so many seconds each: log, cj1, http, frame
fuzz target="all" seconds="30":
    fuzz/run.sh {{target}} {{seconds}}

# The long tests, one after the other; each is a recipe of its own
soak: soak-store soak-fuzz

# Hold the store to its word for longer: the simulated disk from another seed on, every flipped bit, 200 kills: just soak-store [SEED]
soak-store seed="0":
    HERDBOOK_TEST_SLOW=1 HERDBOOK_TEST_SEED={{seed}} cargo test --release -p herdbook-log --test it -- model damage kills
    HERDBOOK_TEST_SLOW=1 cargo test --release -p herdbook-daemon --test it -- slow_

# Fuzz each target for ten minutes
soak-fuzz:
    fuzz/run.sh all 600
