# shellcheck shell=sh
# Sourced by the other scripts: lets Open MPI and MPICH start more ranks than this machine has cores, as any user.
#
# Open MPI refuses to run as root, refuses more ranks than cores, and spins while it waits; in containers its
# single-copy shared memory fails, and without it one-sided communication has to go by messages. All of that is
# settings, so a plain `mpirun.openmpi -n 4 program` works afterwards. A value the caller has set already stays.
: "${OMPI_ALLOW_RUN_AS_ROOT:=1}" "${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:=1}"
: "${OMPI_MCA_rmaps_base_oversubscribe:=1}" "${OMPI_MCA_mpi_yield_when_idle:=1}"
: "${OMPI_MCA_hwloc_base_binding_policy:=none}"
: "${OMPI_MCA_btl:=self,vader,tcp}" "${OMPI_MCA_btl_vader_single_copy_mechanism:=none}"
: "${OMPI_MCA_osc:=pt2pt}" "${OMPI_MCA_btl_base_warn_component_unused:=0}"
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
export OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_mpi_yield_when_idle OMPI_MCA_hwloc_base_binding_policy
export OMPI_MCA_btl OMPI_MCA_btl_vader_single_copy_mechanism
export OMPI_MCA_osc OMPI_MCA_btl_base_warn_component_unused
# One thread a rank: libraries with OpenMP would otherwise start one for each core, in every rank.
: "${OMP_NUM_THREADS:=1}"
export OMP_NUM_THREADS
