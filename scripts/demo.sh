#!/bin/sh
# Records apps/halo on 4 ranks and leaves a report: what `make demo` does once everything is installed.
#
#   demo.sh [arguments of halo]      default: --size 96, a few seconds
set -eu

cd "$(dirname "$0")/.."
# shellcheck source=scripts/mpi-env.sh
. scripts/mpi-env.sh

cargo build --release -p talea -p talea-mpi -p talea-mark
make --no-print-directory -C apps bin/openmpi/halo
[ $# -gt 0 ] || set -- --size 96

out=out/halo-$(date +%Y%m%d-%H%M%S)
mkdir -p out
echo
echo "talea run --out $out -- mpirun -n 4 halo $*"
target/release/talea run --out "$out" -- mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 apps/bin/openmpi/halo "$@"
echo
target/release/talea show "$out" structure
echo
target/release/talea report "$out"
