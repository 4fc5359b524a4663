#!/bin/bash
# Makes the package of the agent for compute nodes, with dpkg-deb alone.
#
#   deb.sh [PROGRAM [FOLDER]]      a built talea-agent (target/small/talea-agent unless told), and where the package goes (target)
#
# The package depends on the lowest glibc whose symbols the program uses, which is looked up in the program; a static one depends on nothing.
# Needs dpkg-deb, readelf and gzip. Prints the package's path.
set -euo pipefail
# The same order everywhere, whatever language somebody builds in.
export LC_ALL=C
cd "$(dirname "$0")/.."

program=${1:-target/small/talea-agent}
folder=${2:-target}
for tool in dpkg-deb readelf gzip; do
    command -v "$tool" >/dev/null || {
        echo "deb: $tool is missing" >&2
        exit 3
    }
done
[ -x "$program" ] || {
    echo "deb: not built: $program; run cargo build --profile small -p talea-node first" >&2
    exit 2
}

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
machine=$(readelf --file-header "$program" | sed -n 's/^ *Machine: *//p')
case $machine in
    *X86-64) architecture=amd64 ;;
    AArch64) architecture=arm64 ;;
    *)
        echo "deb: expected a program for x86-64 or AArch64: $machine" >&2
        exit 2
        ;;
esac
# Versions that symbols are asked for with; weak ones may be absent, but packages must not count on that.
glibc=$(readelf --wide --version-info "$program" | grep -o 'GLIBC_[0-9.]*' | sort --unique --version-sort | tail -n 1 | sed 's/GLIBC_//' || true)
libraries=$(readelf --wide --dynamic "$program" | sed -n 's/.*Shared library: \[\(.*\)\]/\1/p')
depends=
if [ -n "$glibc" ]; then
    depends="libc6 (>= $glibc)"
    case $libraries in
        *libgcc_s.so.1*) depends="$depends, libgcc-s1" ;;
    esac
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
install -D --mode=755 "$program" "$root/usr/bin/talea-agent"
install -D --mode=644 packaging/systemd/talea-agent.service "$root/lib/systemd/system/talea-agent.service"
install -D --mode=644 packaging/agent.conf "$root/etc/talea/agent.conf"
install -D --mode=755 packaging/slurm/prolog.sh "$root/usr/share/talea/slurm/prolog.sh"
install -D --mode=755 packaging/slurm/epilog.sh "$root/usr/share/talea/slurm/epilog.sh"
documents=$root/usr/share/doc/talea-agent
# With what it points to.
for text in agent markers rules server store; do
    install -D --mode=644 "docs/$text.md" "$documents/$text.md"
done
install -D --mode=644 LICENSE "$documents/copyright"
gzip --best --no-name --stdout CHANGELOG.md >"$documents/changelog.gz"
chmod 644 "$documents/changelog.gz"
chmod -R go-w "$root"

mkdir "$root/DEBIAN"
install --mode=755 packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm "$root/DEBIAN/"
echo /etc/talea/agent.conf >"$root/DEBIAN/conffiles"
size=$(du --apparent-size --summarize --block-size=1024 --exclude=DEBIAN "$root" | cut -f 1)
{
    echo "Package: talea-agent"
    echo "Version: $version"
    echo "Architecture: $architecture"
    echo "Maintainer: Talea <https://github.com/talea-hpc/talea>"
    echo "Installed-Size: $size"
    [ -z "$depends" ] || echo "Depends: $depends"
    echo "Section: utils"
    echo "Priority: optional"
    echo "Homepage: https://github.com/talea-hpc/talea"
    echo "Description: what every core of a compute node is at, always"
    echo " Samples every core once a second and keeps which job, user, executable,"
    echo " library, function and phase it was in, with idle time, or sends that to a"
    echo " server. Nothing is started before somebody asks for it."
} >"$root/DEBIAN/control"

(cd "$root" && find usr lib -type f -exec md5sum {} + | sort --key=2 >DEBIAN/md5sums)
mkdir -p "$folder"
package=$folder/talea-agent_${version}_$architecture.deb
# The same input gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --build --root-owner-group "$root" "$package" >/dev/null
echo "$package"
