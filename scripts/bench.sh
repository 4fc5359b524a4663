#!/bin/sh
# What a recorded call costs: apps/bench plain and under Talea, on 1 rank and on 2, one table.
#
#   bench.sh
set -eu

cd "$(dirname "$0")/.."
# shellcheck source=scripts/mpi-env.sh
. scripts/mpi-env.sh

cargo build --release -p talea -p talea-mpi
make --no-print-directory -C apps bin/openmpi/calls bin/openmpi/signatures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Medians of both programs on $1 ranks, one line each: name, nanoseconds. More arguments: the command in front.
measure() {
    ranks=$1
    shift
    for program in calls signatures "signatures --same-site"; do
        rm -rf "$work/run"
        # shellcheck disable=SC2086 # A program and its option.
        "$@" mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" apps/bin/openmpi/$program
    done 2>"$work/errors" | awk -F '\t' 'NF == 4 { print $1 "\t" $2 }'
    if grep -qi error "$work/errors"; then
        cat "$work/errors" >&2
        return 1
    fi
}

printf '%5s  %-16s %12s %12s %12s\n' ranks call 'talea - plain' 'plain, ns' 'talea, ns'
for ranks in 1 2; do
    measure "$ranks" >"$work/plain"
    measure "$ranks" target/release/talea run --out "$work/run" -- >"$work/talea"
    awk -F '\t' -v ranks="$ranks" '
        NR == FNR { plain[$1] = $2; next }
        { printf "%5d  %-16s %12.1f %12.1f %12.1f\n", ranks, $1, $2 - plain[$1], plain[$1], $2 }
    ' "$work/plain" "$work/talea"
done
