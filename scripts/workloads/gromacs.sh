#!/bin/sh
# A small box of water with GROMACS: make its input, or run it.
#
#   gromacs.sh prepare DIR [STEPS] [EDGE]   make DIR/md.tpr; print the command to put behind `mpirun -n N`
#   gromacs.sh run DIR [RANKS]              run it with Open MPI (default 4 ranks)
#
# Water (SPC, from the 216 molecules that come with GROMACS) in a cube of EDGE nm (default 3.5: 1400 molecules),
# minimised, then STEPS steps of 2 fs (default 5000) with PME. Making the input takes seconds: DIR keeps it, and the same
# request is answered from there.
# DIR must not contain spaces: what is printed is for $(...) without quotes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# One step of the preparation: silent when it works, its whole output when it does not.
gmx_step() {
    if ! (cd "$dir" && gmx_mpi -nobackup "$@" >step.log 2>&1 </dev/null); then
        echo "gromacs.sh: gmx_mpi $1 failed in $dir:" >&2
        cat "$dir/step.log" >&2
        exit 1
    fi
}

prepare() {
    dir=$1 steps=${2:-5000} edge=${3:-3.5}
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    request="steps $steps edge $edge"
    if [ ! -e "$dir/md.tpr" ] || [ "$(cat "$dir/request" 2>/dev/null)" != "$request" ]; then
        rm -f "$dir/request"
        cat >"$dir/topol.top" <<'INPUT'
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"

[ system ]
Water

[ molecules ]
INPUT
        cat >"$dir/minimise.mdp" <<'INPUT'
integrator      = steep
nsteps          = 100
emtol           = 500
cutoff-scheme   = Verlet
coulombtype     = PME
rcoulomb        = 0.9
rvdw            = 0.9
INPUT
        cat >"$dir/md.mdp" <<INPUT
integrator      = md
dt              = 0.002
nsteps          = $steps
nstcalcenergy   = 100
nstenergy       = 100
nstlog          = 100
nstxout         = 0
cutoff-scheme   = Verlet
coulombtype     = PME
rcoulomb        = 0.9
rvdw            = 0.9
tcoupl          = v-rescale
tc-grps         = System
tau-t           = 0.5
ref-t           = 300
gen-vel         = yes
gen-temp        = 300
gen-seed        = 1729
constraints     = h-bonds
INPUT
        # `solvate` appends the number of molecules to the topology.
        gmx_step solvate -cs spc216.gro -box "$edge" "$edge" "$edge" -p topol.top -o water.gro
        gmx_step grompp -f minimise.mdp -c water.gro -p topol.top -o minimise.tpr
        gmx_step mdrun -deffnm minimise -ntomp 1
        gmx_step grompp -f md.mdp -c minimise.gro -p topol.top -o md.tpr
        echo "$request" >"$dir/request"
    fi
    echo "env -C $dir gmx_mpi -nobackup mdrun -deffnm md -ntomp 1 -noconfout -pin off"
}

[ $# -ge 2 ] || usage
# shellcheck source=../mpi-env.sh
. "$here/../mpi-env.sh"
case $1 in
prepare)
    shift
    prepare "$@"
    ;;
run)
    # shellcheck disable=SC2046 # The printed command is meant to be split.
    exec mpirun.openmpi -n "${3:-4}" $(prepare "$2")
    ;;
*) usage ;;
esac
