#!/bin/sh
# Prints the tables of docs/benchmarks.md, measured on this machine: cost of a call, run time, sizes, speed of reading, the view of a node,
# decisions while a program runs, sampling, clustering, folding, reading of traces, markers, the agent, the server, the network.
#
#   bench.sh [mpi|flow|online|scale|topo|sample|cluster|fold|paraver|mark|agent|shares|serve|fabric]      default: all
set -eu

cd "$(dirname "$0")/.."
# shellcheck source=scripts/mpi-env.sh
. scripts/mpi-env.sh

cargo build --release --workspace
cargo build --profile small -p talea-node
make --no-print-directory -C apps
[ $# -gt 0 ] || set -- mpi flow online scale topo sample cluster fold paraver mark agent shares serve fabric
for table in "$@"; do
    cargo xtask bench "$table"
done
