#!/bin/bash
# Checks that the packages hold what they should: packs what is built, unpacks `talea` elsewhere, and records a program with it.
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

serve=$(scripts/deb.sh --serve "$folder/talea" "$work")
[ "$(dpkg-deb --field "$serve" Depends)" = "talea (= $(dpkg-deb --field "$package" Version))" ]
dpkg-deb --extract "$serve" "$work/serve"
for file in lib/systemd/system/talea-serve.service etc/talea/serve.conf usr/share/talea/fail2ban/talea-serve.conf; do
    [ -e "$work/serve/$file" ] || {
        echo "package: $file is missing in talea-serve" >&2
        exit 1
    }
done
[ "$(dpkg-deb --info "$serve" conffiles)" = /etc/talea/serve.conf ]
# One host may have all three; dpkg refuses a file that is in two of them. Any program will do as the agent.
cp /bin/true "$work/talea-agent"
agent=$(scripts/deb.sh "$work/talea-agent" "$work")
twice=$(for one in "$package" "$serve" "$agent"; do dpkg-deb --fsys-tarfile "$one" | tar --list | grep -v '/$'; done | sort | uniq --repeated)
[ -z "$twice" ] || {
    echo "package: in two packages: $twice" >&2
    exit 1
}

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
[ "$(head --bytes=4 run.parquet/sites/part-0.parquet)" = PAR1 ]
echo "package: $(basename "$package"), $(du --apparent-size --human-readable "$package" | cut -f 1): records and writes Parquet"
