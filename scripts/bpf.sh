#!/bin/sh
# Builds the BPF program of the sampler, which is committed as an object so that nobody needs clang to build Talea.
#
#   scripts/bpf.sh           builds it anew
#   scripts/bpf.sh --check   builds it beside and compares; without clang-14 it says so and is content, but not in CI
#
# clang-14 is Debian 12's: another version gives other bytes.
set -eu
cd "$(dirname "$0")/../crates/machine/sampling/bpf"
clang=${CLANG:-clang-14}
build() {
	"$clang" -O2 -g -target bpf -mcpu=v3 -Wall -Werror -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=. -c system.bpf.c -o "$1"
	# Line numbers of DWARF are of no use to the kernel, and three quarters of the file.
	"${clang%clang*}llvm-strip${clang#*clang}" -g "$1"
}
if [ "${1:-}" != --check ]; then
	build system.bpf.o
	exit
fi
if ! command -v "$clang" >/dev/null; then
	echo "skipped: $clang is not installed, system.bpf.o was not compared"
	[ -z "${CI:-}" ]
	exit
fi
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
build "$fresh"
if ! cmp -s "$fresh" system.bpf.o; then
	echo "crates/machine/sampling/bpf/system.bpf.o is not what $clang makes of system.bpf.c: run scripts/bpf.sh" >&2
	exit 1
fi
