#!/bin/bash
# Installs the Python package into an environment of its own, and runs its tests and the notebook.
#
#   python.sh [--wheel]
#
# The package has the library of the workspace's build. With --wheel it is the wheel that maturin builds, which compiles
# nearly everything again: the library alone needs fewer features of its dependencies. The wheel stays in
# target/python-package/wheels. Needs what `make setup-test` installs; Python packages are kept in target/python-package.
set -euo pipefail

cd "$(dirname "$0")/.."
way=${1:-}
case $way in
    "" | --wheel) ;;
    *) echo "python.sh: expected --wheel or nothing, found $way" >&2; exit 2 ;;
esac
export CARGO_PROFILE_RELEASE_LTO=off

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
target=$(cd "$target" && pwd)
folder=$target/python-package
# The builder, data frames with their types, and programs of the tests.
packages="maturin==1.16.0 pytest==9.2.0 mypy==2.4.1
    pandas==3.1.1 pandas-stubs==3.1.0.261029 polars==2.1.0 pyarrow==26.0.1 pyarrow-stubs==20.0.0.20260819
    duckdb==2.0.1 matplotlib==3.11.2 nbclient==0.11.0 nbformat==5.11.1 ipykernel==7.4.0"

if [ "$(cat "$folder/installed" 2>/dev/null)" != "$packages" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    # shellcheck disable=SC2086 # A list of words.
    "$folder/bin/pip" install -q --disable-pip-version-check $packages
    echo "$packages" >"$folder/installed"
fi

# The command whose output the results are compared with; nothing to do where the workspace is built.
cargo build --workspace --release --features talea/parquet
export TALEA=$target/release/talea

if [ "$way" = --wheel ]; then
    rm -rf "$folder/wheels"
    CARGO_TARGET_DIR=$target "$folder/bin/maturin" build --release --quiet --manifest-path crates/show/python/Cargo.toml \
        --interpreter "$folder/bin/python" --compatibility linux --out "$folder/wheels"
    "$folder/bin/pip" install -q --disable-pip-version-check --force-reinstall --no-deps "$folder"/wheels/*.whl
else
    "$folder/bin/pip" uninstall -q -y --disable-pip-version-check talea 2>/dev/null
    site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    rm -rf "$site/talea"
    cp -r crates/show/python/python/talea "$site/talea"
    cp "$target/release/lib_talea.so" "$site/talea/_talea.abi3.so"
fi

# Outside the checkout, so that the installed package is tried.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$folder/bin/python" -m pytest -q -p no:cacheprovider -c "$OLDPWD/crates/show/python/pyproject.toml" \
    --rootdir "$OLDPWD/crates/show/python" "$OLDPWD/crates/show/python/tests"
