#!/bin/sh
# Tells Talea's agent of this node that a job has ended. For `Epilog=` in slurm.conf, by itself or called from the site's own epilog.
# Never fails: an epilog that fails drains the node.
agent=${TALEA_AGENT:-/usr/bin/talea-agent}
[ -x "$agent" ] || exit 0
timeout 5 "$agent" job-end --run-dir "${TALEA_RUN_DIR:-/run/talea}" || :
exit 0
