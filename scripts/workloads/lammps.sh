#!/bin/sh
# A Lennard-Jones melt with LAMMPS: make its input, or run it.
#
#   lammps.sh prepare DIR [STEPS] [CELLS]   write DIR/in.melt; print the command to put behind `mpirun -n N`
#   lammps.sh run DIR [RANKS]               run it with Open MPI (default 4 ranks)
#
# 4 x CELLS^3 atoms (default 20 cells: 32000 atoms), STEPS steps (default 250).
# DIR must not contain spaces: what is printed is for $(...) without quotes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

usage() {
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

prepare() {
    dir=$1 steps=${2:-250} cells=${3:-20}
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    cat >"$dir/in.melt" <<INPUT
# Lennard-Jones melt: $((4 * cells * cells * cells)) atoms, $steps steps.
units           lj
atom_style      atomic
lattice         fcc 0.8442
region          box block 0 $cells 0 $cells 0 $cells
create_box      1 box
create_atoms    1 box
mass            1 1.0
velocity        all create 3.0 87287 loop geom
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0 2.5
neighbor        0.3 bin
neigh_modify    every 20 delay 0 check no
fix             1 all nve
thermo          50
run             $steps
INPUT
    echo "lmp -log none -in $dir/in.melt"
}

[ $# -ge 2 ] || usage
case $1 in
prepare)
    shift
    prepare "$@"
    ;;
run)
    # shellcheck source=../mpi-env.sh
    . "$here/../mpi-env.sh"
    # shellcheck disable=SC2046 # The printed command is meant to be split.
    exec mpirun.openmpi -n "${3:-4}" $(prepare "$2")
    ;;
*) usage ;;
esac
