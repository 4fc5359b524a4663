#!/bin/bash
# Makes a Debian package, with dpkg-deb alone: `talea-agent`, the agent for compute nodes, or `talea`, everything.
#
#   deb.sh [PROGRAM [FOLDER]]      a built program (target/small/talea-agent by default; its file name chooses the package), and where the
#                                  package goes (target)
#
#   deb.sh target/release/talea    with libraries, headers, man pages, completions, documents and dashboards; the program must have been
#                                  built with `--features talea/parquet`, its libraries are taken from the same folder
#
# The package depends on the lowest glibc whose symbols its files use, which is looked up in them; static ones depend on nothing.
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
name=$(basename "$program")
case $name in
    talea-agent) build="cargo build --profile small -p talea-node" ;;
    talea) build="cargo build --workspace --release --features talea/parquet" ;;
    *)
        echo "deb: expected a program talea or talea-agent: $program" >&2
        exit 2
        ;;
esac
files=("$program")
if [ "$name" = talea ]; then
    for library in mpi mark topo; do
        files+=("$(dirname "$program")/libtalea_$library.so")
    done
fi
for file in "${files[@]}"; do
    [ -e "$file" ] || {
        echo "deb: not built: $file; run $build first" >&2
        exit 2
    }
done
if [ "$name" = talea ]; then
    case $("$program" help convert) in
        *"not in this build"*)
            echo "deb: built without Parquet: $program; run $build first" >&2
            exit 2
            ;;
    esac
fi

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
# Versions of the symbols that the files use; weak ones may be absent, but packages must not count on that.
glibc=$(readelf --wide --version-info "${files[@]}" | grep -o 'GLIBC_[0-9.]*' | sort --unique --version-sort | tail -n 1 | sed 's/GLIBC_//' || true)
libraries=$(readelf --wide --dynamic "${files[@]}" | sed -n 's/.*Shared library: \[\(.*\)\]/\1/p')
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
documents=$root/usr/share/doc/$name

agent_files() {
    install -D --mode=755 "$program" "$root/usr/bin/talea-agent"
    install -D --mode=644 packaging/systemd/talea-agent.service "$root/lib/systemd/system/talea-agent.service"
    install -D --mode=644 packaging/agent.conf "$root/etc/talea/agent.conf"
    install -D --mode=755 packaging/slurm/prolog.sh "$root/usr/share/talea/slurm/prolog.sh"
    install -D --mode=755 packaging/slurm/epilog.sh "$root/usr/share/talea/slurm/epilog.sh"
    # With what it points to.
    for text in agent markers rules server store; do
        install -D --mode=644 "docs/$text.md" "$documents/$text.md"
    done
}

talea_files() {
    install -D --mode=755 "$program" "$root/usr/bin/talea"
    for library in "${files[@]:1}"; do
        install -D --mode=644 "$library" "$root/usr/lib/$(basename "$library")"
    done
    # Debug information is nine tenths of them.
    strip --strip-unneeded "$root/usr/bin/talea" "$root"/usr/lib/*.so
    install -D --mode=644 --target-directory="$root/usr/include" include/*
    install -D --mode=644 --target-directory="$documents" README.md
    install -D --mode=644 --target-directory="$documents/docs" docs/*
    install -d "$root/usr/share/talea"
    cp --recursive grafana "$root/usr/share/talea/"
    install -d "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
        "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
    "$program" man --out "$root/usr/share/man/man1" >/dev/null
    gzip --best --no-name "$root/usr/share/man/man1"/*.1
    "$program" completions bash >"$root/usr/share/bash-completion/completions/talea"
    "$program" completions zsh >"$root/usr/share/zsh/vendor-completions/_talea"
    "$program" completions fish >"$root/usr/share/fish/vendor_completions.d/talea.fish"
    chmod -R u=rwX,go=rX "$root/usr/share"
}

case $name in
    talea-agent) agent_files ;;
    talea) talea_files ;;
esac
install -D --mode=644 LICENSE "$documents/copyright"
gzip --best --no-name --stdout CHANGELOG.md >"$documents/changelog.gz"
chmod 644 "$documents/changelog.gz"
chmod -R go-w "$root"

mkdir "$root/DEBIAN"
if [ "$name" = talea-agent ]; then
    install --mode=755 packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm "$root/DEBIAN/"
    echo /etc/talea/agent.conf >"$root/DEBIAN/conffiles"
fi
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
        echo "Description: samples every core of a compute node once a second"
        echo " Keeps the job, user, executable, library, function and phase of each"
        echo " sample, and idle time, or sends them to a server. The package starts no"
        echo " service by itself."
    else
        echo "Description: performance introspection of MPI programs, nodes and networks"
        echo " Records every MPI call of a program at the cost of a profile, and shows"
        echo " its loops, waiting times, clusters of computation and samples; values on"
        echo " the topology of a node; traffic of networks; all jobs of a machine."
    fi
} >"$root/DEBIAN/control"

(cd "$root" && find . \( -path ./DEBIAN -o -path ./etc \) -prune -o -type f -printf '%P\0' | xargs --null md5sum | sort --key=2 >DEBIAN/md5sums)
mkdir -p "$folder"
package=$folder/${name}_${version}_$architecture.deb
# The same input gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --build --root-owner-group "$root" "$package" >/dev/null
echo "$package"
