#!/bin/bash
# Makes a Debian package, with dpkg-deb alone: `talea-agent`, the agent for compute nodes; `talea`, everything; or `talea-serve`, the
# service of a site's server.
#
#   deb.sh [PROGRAM [FOLDER]]      a built program (target/small/talea-agent by default; its file name chooses the package), and where the
#                                  package goes (target)
#
#   deb.sh target/release/talea    with libraries, headers, man pages, completions, documents and dashboards; the program must have been
#                                  built with `--features talea/parquet`, its libraries are taken from the same folder
#
#   deb.sh --serve PROGRAM [FOLDER]    `talea-serve` beside `talea` of the same version: unit, options and user, for PROGRAM's architecture
#
# The package depends on the lowest glibc whose symbols its files use, which is looked up in them; static ones depend on nothing.
# Needs dpkg-deb, readelf, strip and gzip. Prints the package's path.
set -euo pipefail
# The same order everywhere, whatever language somebody builds in.
export LC_ALL=C
cd "$(dirname "$0")/.."

serve=
if [ "${1:-}" = --serve ]; then
    serve=yes
    shift
    set -- "${1:-target/release/talea}" "${@:2}"
fi
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
if [ -n "$serve" ]; then
    [ "$name" = talea ] || {
        echo "deb: expected a program talea for --serve: $program" >&2
        exit 2
    }
    name=talea-serve
fi
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
if [ "$name" = talea-serve ]; then
    depends="talea (= $version)"
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
documents=$root/usr/share/doc/$name

# Texts with what they point to.
service_documents() {
    for text in agent markers rules server store; do
        install -D --mode=644 "docs/$text.md" "$documents/$text.md"
    done
}

agent_files() {
    install -D --mode=755 "$program" "$root/usr/bin/talea-agent"
    install -D --mode=644 packaging/systemd/talea-agent.service "$root/lib/systemd/system/talea-agent.service"
    install -D --mode=644 packaging/agent.conf "$root/etc/talea/agent.conf"
    install -D --mode=755 packaging/slurm/prolog.sh "$root/usr/share/talea/slurm/prolog.sh"
    install -D --mode=755 packaging/slurm/epilog.sh "$root/usr/share/talea/slurm/epilog.sh"
    install -D --mode=644 --target-directory="$root/usr/share/man/man1" packaging/man/*.1
    gzip --best --no-name "$root/usr/share/man/man1"/*.1
    service_documents
}

serve_files() {
    install -D --mode=644 packaging/systemd/talea-serve.service "$root/lib/systemd/system/talea-serve.service"
    install -D --mode=644 packaging/serve.conf "$root/etc/talea/serve.conf"
    install -D --mode=644 packaging/fail2ban/talea-serve.conf "$root/usr/share/talea/fail2ban/talea-serve.conf"
    service_documents
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
    install -D --mode=644 --target-directory="$documents/docs" docs/*.*
    install -D --mode=644 --target-directory="$documents/docs/notebook" docs/notebook/*
    install -d "$root/usr/share/talea"
    cp --recursive grafana "$root/usr/share/talea/"
    install -d "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
        "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
    "$program" man --out "$root/usr/share/man/man1" >/dev/null
    # The package talea-agent has these; dpkg refuses a file that is in two packages.
    for page in packaging/man/*.1; do
        rm -f "$root/usr/share/man/man1/$(basename "$page")"
    done
    gzip --best --no-name "$root/usr/share/man/man1"/*.1
    "$program" completions bash >"$root/usr/share/bash-completion/completions/talea"
    "$program" completions zsh >"$root/usr/share/zsh/vendor-completions/_talea"
    "$program" completions fish >"$root/usr/share/fish/vendor_completions.d/talea.fish"
    chmod -R u=rwX,go=rX "$root/usr/share"
}

case $name in
    talea-agent) agent_files ;;
    talea-serve) serve_files ;;
    talea) talea_files ;;
esac
install -D --mode=644 LICENSE "$documents/copyright"
gzip --best --no-name --stdout CHANGELOG.md >"$documents/changelog.gz"
chmod 644 "$documents/changelog.gz"
chmod -R go-w "$root"

mkdir "$root/DEBIAN"
scripts=
case $name in
    talea-agent) scripts=packaging/deb configuration=/etc/talea/agent.conf ;;
    talea-serve) scripts=packaging/deb-serve configuration=/etc/talea/serve.conf ;;
esac
if [ -n "$scripts" ]; then
    install --mode=755 "$scripts/postinst" "$scripts/prerm" "$scripts/postrm" "$root/DEBIAN/"
    echo "$configuration" >"$root/DEBIAN/conffiles"
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
    case $name in
        talea-agent)
            echo "Description: samples every core of a compute node once a second"
            echo " Keeps the job, user, executable, library, function and phase of each"
            echo " sample, and idle time, or sends them to a server. The package starts no"
            echo " service by itself."
            ;;
        talea-serve)
            echo "Description: server for the samples of all nodes of a site"
            echo " Receives and keeps the samples that talea-agent sends from each node, and"
            echo " answers browsers, scripts and Grafana: users see their own jobs, operators"
            echo " all. The package starts no service by itself."
            ;;
        talea)
            echo "Description: performance introspection of MPI programs, nodes and networks"
            echo " Records every MPI call of a program at the cost of a profile, and shows"
            echo " its loops, waiting times, clusters of computation and samples; values on"
            echo " the topology of a node; traffic of networks; all jobs of a machine."
            ;;
    esac
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
