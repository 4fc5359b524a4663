#!/bin/bash
# Checks that the package `talea` holds what it should: packs what is built, unpacks it elsewhere, and records a program with it.
#
#   package-test.sh [FOLDER]       the folder of the built program (target/release)
#
# Needs what `make setup-test` installs, and programs built by `make apps`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/mpi-env.sh
. scripts/mpi-env.sh

folder=${1:-${CARGO_TARGET_DIR:-target}/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

package=$(scripts/deb.sh "$folder/talea" "$work")
again=$(mkdir "$work/again" && scripts/deb.sh "$folder/talea" "$work/again")
cmp "$package" "$again"
dpkg-deb --field "$package" Depends | grep "libc6 (>= " >/dev/null
dpkg-deb --extract "$package" "$work/root"
for file in usr/include/talea_mark.h usr/share/man/man1/talea-run.1.gz usr/share/bash-completion/completions/talea \
    usr/share/doc/talea/docs/structure.md usr/share/doc/talea/copyright usr/share/talea/grafana/dashboards; do
    [ -e "$work/root/$file" ] || {
        echo "package: $file is missing" >&2
        exit 1
    }
done

# From where nothing of the build folder is near.
talea=$work/root/usr/bin/talea
halo=$PWD/apps/bin/openmpi/halo
cd "$work"
env --unset=TALEA_MPI_LIBRARY "$talea" run --out run -- \
    mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 "$halo" --size 24 >run.txt 2>&1 || {
    cat run.txt >&2
    exit 1
}
"$talea" show run stats --json | grep '"ranks": 2' >/dev/null
"$talea" convert run run.parquet >/dev/null
[ "$(head --bytes=4 run.parquet)" = PAR1 ]
echo "package: $(basename "$package"), $(du --apparent-size --human-readable "$package" | cut -f 1): records and writes Parquet"
