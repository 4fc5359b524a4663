#!/bin/bash
# Every check, in stages, each with the time it took: what `make test` does once everything is installed.
#
#   test.sh
#
# The first stage that fails ends the run. The last line is the test runner's summary.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=scripts/mpi-env.sh
. scripts/mpi-env.sh

# Optimising across crates once more for each of some forty test programs takes longer than they run.
export CARGO_PROFILE_RELEASE_LTO=off

times=()
current=
output=$(mktemp)
# Each skipped test appends a line with its name and reason.
TALEA_SKIPPED=$(mktemp)
export TALEA_SKIPPED

# Runs however the script ends: what each stage took, which one failed, and as the last line the runner's summary.
finish() {
    local status=$?
    printf '\n'
    [ ${#times[@]} -eq 0 ] || printf '%s\n' "${times[@]}"
    printf '%5d s  in all\n\n' "$SECONDS"
    [ -z "$current" ] || printf 'test: failed: %s\n\n' "$current"
    if [ -s "$TALEA_SKIPPED" ]; then
        sort -u "$TALEA_SKIPPED" | sed 's/^/skipped: /'
        printf 'test: %d skipped for these reasons\n\n' "$(sort -u "$TALEA_SKIPPED" | wc -l)"
    fi
    # Without colours, if there are any.
    sed 's/\x1b\[[0-9;]*m//g' "$output" | grep -E '^ *Summary \[|^test result:' | tail -n 1 || true
    rm -f "$output" "$TALEA_SKIPPED"
    exit "$status"
}
trap finish EXIT

# stage NAME COMMAND...   The command is no condition of anything, so that `set -e` holds within it.
stage() {
    local begin=$SECONDS
    current=$1
    shift
    printf '\n== %s: %s\n' "$current" "$*"
    "$@"
    times+=("$(printf '%5d s  %s' $((SECONDS - begin)) "$current")")
    current=
}

scripts_are_clean() {
    shellcheck -x scripts/*.sh .ci/run
    # From where they are, so that their `source` comments are found.
    (cd scripts/workloads && shellcheck -x ./*.sh)
}

web() (
    cd web
    # The lock file in node_modules tells what was installed last.
    if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
        npm ci --no-audit --no-fund
    fi
    npm run --silent check
    npm run --silent build
    # The built pages are part of the source, so that building Talea needs no Node.
    if git ls-files --error-unmatch dist >/dev/null 2>&1 && ! git diff --quiet -- dist; then
        git --no-pager diff --stat -- dist
        echo "web/dist is not what web/src makes: commit the new files" >&2
        return 1
    fi
    # The pages and the server that are looked at, with the features of the tests, so that nothing is built twice.
    (cd .. && cargo build --workspace --release --features talea/parquet \
        --example site --example samples --example network_samples --example topo_samples)
    TALEA_EXAMPLES=$(cd .. && cd "${CARGO_TARGET_DIR:-target}" && pwd)/release/examples npm run --silent test
)

# Doc tests are not nextest's business; without nextest, cargo runs everything.
runner() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --workspace --release --features talea/parquet --no-fail-fast
    else
        cargo test --workspace --release --features talea/parquet --lib --bins --tests
    fi 2>&1 | tee "$output"
}

stage format cargo fmt --all --check
stage scripts scripts_are_clean
stage "BPF program" scripts/bpf.sh --check
stage programs make --no-print-directory -j 2 -C apps
stage lints cargo clippy --workspace --all-targets --features talea/parquet -- -D warnings
# With fewer features of what they depend on than the whole workspace has.
stage "lints of the small builds" cargo clippy -p talea -p talea-python --no-default-features -- -D warnings
# With the same features as the tests, so that nothing is built twice.
stage build cargo build --workspace --release --features talea/parquet
# Here, because its program is built only now.
stage tidy "${CARGO_TARGET_DIR:-target}/release/xtask" tidy
stage package scripts/package-test.sh
stage "Python package" scripts/python.sh
stage attacks "${CARGO_TARGET_DIR:-target}/release/xtask" attack --fast
stage "doc tests" cargo test --workspace --release --features talea/parquet --doc
if [ -e web/package.json ]; then
    stage web web
fi
stage tests runner
