#!/bin/sh
# Records apps/halo on 4 ranks and leaves a report: what `make demo` does once everything is installed.
#
#   demo.sh [arguments of halo]      default: --size 96, a few seconds
set -eu

cd "$(dirname "$0")/.."
# shellcheck source=scripts/mpi-env.sh
. scripts/mpi-env.sh

# Neither servers and stores nor Parquet are needed here; the profile builds fast.
cargo build --profile demo --no-default-features -p talea -p talea-mpi -p talea-mark
built=${CARGO_TARGET_DIR:-target}/demo
make --no-print-directory -C apps bin/openmpi/halo
[ $# -gt 0 ] || set -- --size 96

out=out/halo-$(date +%Y%m%d-%H%M%S)
mkdir -p out
echo
echo "talea run --out $out -- mpirun -n 4 halo $*"
"$built/talea" run --out "$out" -- mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 apps/bin/openmpi/halo "$@"
echo
"$built/talea" show "$out" structure
echo
"$built/talea" report "$out"

echo
echo "Record a program of yours:   $built/talea run -- mpirun -n 4 ./your_program"
echo "Build all of Talea:          cargo build --release"
