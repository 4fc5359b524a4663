#!/bin/sh
# The HPC Challenge benchmark, made small: make its input, or run it.
#
#   hpcc.sh prepare DIR [N] [P] [Q]   write DIR/hpccinf.txt; print the command to put behind `mpirun -n N`
#   hpcc.sh run DIR                   run it on 4 ranks with Open MPI
#
# Matrix of order N (default 1000) on a grid of P x Q processes (default 2 x 2). Its results go to DIR/hpccoutf.txt.
# DIR must not contain spaces: what is printed is for $(...) without quotes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

usage() {
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

prepare() {
    dir=$1 order=${2:-1000} rows=${3:-2} columns=${4:-2}
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    # The program reads the file by line number: every line counts, and only the first words of it.
    cat >"$dir/hpccinf.txt" <<INPUT
HPLinpack benchmark input file
Small problem for tests
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
$order         Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
$rows            Ps
$columns            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
INPUT
    # A file of results from before would be appended to.
    rm -f "$dir/hpccoutf.txt"
    echo "env -C $dir hpcc"
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
    mpirun.openmpi -n 4 $(prepare "$2")
    # The program returns 0 whatever it found.
    grep -E '^(Success|HPL_Tflops|StarSTREAM_Triad|CommWorldProcs)=' "$2/hpccoutf.txt"
    grep -q '^Success=1' "$2/hpccoutf.txt"
    ;;
*) usage ;;
esac
