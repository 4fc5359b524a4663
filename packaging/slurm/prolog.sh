#!/bin/sh
# Tells Talea's agent of this node that a job begins. For `Prolog=` in slurm.conf, by itself or called from the site's own prolog.
#
# Slurm's environment says which job and whose. A job without samples has the word no-monitoring in its comment
# (#SBATCH --comment=no-monitoring); where Slurm does not give the comment to prologs, it is asked for if TALEA_ASK_COMMENT is 1 (one request to slurmctld
# for each job and node). Never fails: a prolog that fails drains the node.
agent=${TALEA_AGENT:-/usr/bin/talea-agent}
[ -x "$agent" ] || exit 0

if [ -z "${SLURM_JOB_COMMENT+x}" ] && [ "${TALEA_ASK_COMMENT:-0}" = 1 ]; then
    SLURM_JOB_COMMENT=$(timeout 5 squeue --noheader --format=%k --jobs="$SLURM_JOB_ID" 2>/dev/null) || SLURM_JOB_COMMENT=
    export SLURM_JOB_COMMENT
fi
timeout 5 "$agent" job-start --run-dir "${TALEA_RUN_DIR:-/run/talea}" || :
exit 0
