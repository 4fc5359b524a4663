#!/bin/sh
# Takes the picture of a report that the README shows: records apps/halo, opens its report in headless Chromium.
#
#   picture.sh [PICTURE]      default: docs/report.webp
#
# One rank a core, at most 4, the last of them with half as much work again, so that the report has something to say.
# A quiet machine makes a better picture: what others do on it is seen in the durations of iterations.
set -eu

cd "$(dirname "$0")/.."
root=$(pwd)
picture=${1:-docs/report.webp}
# shellcheck source=scripts/mpi-env.sh
. scripts/mpi-env.sh

for program in chromium npm; do
    command -v "$program" >/dev/null || { echo "picture.sh needs $program: apt-get install $program" >&2; exit 1; }
done
cargo build --release -p talea -p talea-mpi
make --no-print-directory -C apps bin/openmpi/halo
[ -d web/node_modules ] || (cd web && npm ci --no-audit --no-fund)

ranks=$(nproc)
[ "$ranks" -ge 2 ] || ranks=2
[ "$ranks" -le 4 ] || ranks=4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The title shows the command as people type it.
ln -s "$root/apps/bin/openmpi/halo" "$work/halo"
ln -s "$(command -v mpirun.openmpi)" "$work/mpirun"
(
    cd "$work"
    PATH="$work:$PATH" "$root/target/release/talea" run --out run -- \
        mpirun -n "$ranks" --bind-to core ./halo --size 64 --imbalance 0.5 --steps 60
)
node web/picture.mjs "$work/run/report.html" "$picture"
