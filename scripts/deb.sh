#!/bin/bash
# Makes the package of the agent for compute nodes, or of the server of a site, with dpkg-deb alone.
#
#   deb.sh [PROGRAM [FOLDER]]      a built talea-agent (default: target/small/talea-agent) or talea, and where the package goes (default: target)
#
# Of `talea` it makes `talea-serve`: the program, the server's unit and its options.
# The package depends on the lowest glibc whose symbols the program uses, which is looked up in the program; a static one depends on nothing.
# Needs dpkg-deb, readelf, strip and gzip. Prints the package's path.
set -euo pipefail
# The same order everywhere, whatever language somebody builds in.
export LC_ALL=C
cd "$(dirname "$0")/.."

program=${1:-target/small/talea-agent}
folder=${2:-target}
for tool in dpkg-deb readelf strip gzip; do
    command -v "$tool" >/dev/null || {
        echo "deb: $tool is missing" >&2
        exit 3
    }
done
[ -x "$program" ] || {
    echo "deb: not built: $program; run cargo build --profile small -p talea-node (or --release -p talea) first" >&2
    exit 2
}
case $(basename "$program") in
    talea-agent) name=talea-agent ;;
    talea) name=talea-serve ;;
    *)
        echo "deb: expected a program called talea-agent or talea: $program" >&2
        exit 2
        ;;
esac

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
install -D --mode=755 "$program" "$root/usr/bin/$(basename "$program")"
install -D --mode=644 "packaging/systemd/$name.service" "$root/lib/systemd/system/$name.service"
if [ "$name" = talea-agent ]; then
    configuration=/etc/talea/agent.conf
    install -D --mode=644 packaging/agent.conf "$root$configuration"
    install -D --mode=755 packaging/slurm/prolog.sh "$root/usr/share/talea/slurm/prolog.sh"
    install -D --mode=755 packaging/slurm/epilog.sh "$root/usr/share/talea/slurm/epilog.sh"
    for page in packaging/man/*.1; do
        packed=$root/usr/share/man/man1/$(basename "$page").gz
        install -D --mode=644 /dev/null "$packed"
        gzip --best --no-name --stdout "$page" >"$packed"
    done
    scripts=packaging/deb
else
    configuration=/etc/talea/serve.conf
    install -D --mode=644 packaging/serve.conf "$root$configuration"
    # Debug information is seven eighths of it.
    strip --strip-debug "$root/usr/bin/talea"
    scripts=packaging/deb-serve
fi
documents=$root/usr/share/doc/$name
# With what it points to.
for text in agent markers rules server store; do
    install -D --mode=644 "docs/$text.md" "$documents/$text.md"
done
install -D --mode=644 LICENSE "$documents/copyright"
gzip --best --no-name --stdout CHANGELOG.md >"$documents/changelog.gz"
chmod 644 "$documents/changelog.gz"
chmod -R go-w "$root"

mkdir "$root/DEBIAN"
install --mode=755 "$scripts/postinst" "$scripts/prerm" "$scripts/postrm" "$root/DEBIAN/"
echo "$configuration" >"$root/DEBIAN/conffiles"
size=$(du --apparent-size --summarize --block-size=1024 --exclude=DEBIAN "$root" | cut -f 1)
{
    echo "Package: $name"
    echo "Version: $version"
    echo "Architecture: $architecture"
    echo "Maintainer: Talea <https://github.com/talea-hpc/talea>"
    echo "Installed-Size: $size"
    [ -z "$depends" ] || echo "Depends: $depends"
    echo "Section: utils"
    echo "Priority: optional"
    echo "Homepage: https://github.com/talea-hpc/talea"
    if [ "$name" = talea-agent ]; then
        echo "Description: what every core of a compute node is at, always"
        echo " Samples every core once a second and keeps which job, user, executable,"
        echo " library, function and phase it was in, with idle time, or sends that to a"
        echo " server. Nothing is started before somebody asks for it."
    else
        echo "Description: server of what the cores of a site are at"
        echo " Takes what talea-agent sends from each node, keeps it, and answers browsers,"
        echo " scripts and Grafana: users their own jobs, operators everything. Nothing is"
        echo " started before somebody asks for it."
    fi
} >"$root/DEBIAN/control"

(cd "$root" && find usr lib -type f -exec md5sum {} + | sort --key=2 >DEBIAN/md5sums)
mkdir -p "$folder"
package=$folder/${name}_${version}_$architecture.deb
# The same input gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --build --root-owner-group "$root" "$package" >/dev/null
echo "$package"
