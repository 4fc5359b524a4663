#!/bin/bash
# Runs a command inside a Slurm cluster of one node, which exists only for it: this machine, on the loopback interface.
#
#   slurm.sh COMMAND...
#
# TALEA_SLURM_NODES=4 simulates as many nodes (kn0 ...), all of them this machine, each with its own slurmd; TALEA_SLURM_PROLOG and TALEA_SLURM_EPILOG are
# programs that each of them runs.
# Needs Debian's slurm-wlm and munge; any user may start it, for their own jobs. Everything of the cluster is in a temporary folder; its three servers end
# with the command. The node claims eight processors, so that `srun -n 8` works on smaller machines too. Exit code: the
# command's, or 3 if the cluster does not come up.
set -euo pipefail

[ $# -gt 0 ] || {
    echo "usage: slurm.sh COMMAND..." >&2
    exit 2
}
# Debian has servers where only root's search path leads.
PATH=$PATH:/usr/sbin
for program in munged slurmctld slurmd srun sinfo; do
    command -v "$program" >/dev/null || {
        echo "slurm: $program is not installed: scripts/setup.sh test" >&2
        exit 3
    }
done

folder=$(mktemp -d)
chmod 755 "$folder"
servers=()
# shellcheck disable=SC2317 # The trap calls it.
# End only what was started here, newest first: the command while it still can tell the servers.
finish() {
    local status=$? server
    for server in "${servers[@]}"; do
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT

give_up() {
    echo "slurm: $1" >&2
    tail -n 5 "$folder"/*.log >&2 || true
    exit 3
}

# Two ports of its own, below those that the kernel gives away: another cluster may run here.
port=$((12000 + 2 * ($$ % 10000)))
host=$(hostname -s)
nodes=${TALEA_SLURM_NODES:-1}
if [ "$nodes" = 1 ]; then
    names=$host
    ports=
else
    names="kn[0-$((nodes - 1))]"
    # Above all that clusters of one node may have.
    first=$((32100 + nodes * ($$ % 50)))
    ports="NodeHostname=$host Port=[$first-$((first + nodes - 1))]"
fi
cat >"$folder/slurm.conf" <<END
ClusterName=talea
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
TmpFS=$folder/tmp
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=pmi2
# A rank that fails takes the others along, as with mpirun.
KillOnBadExit=1
ReturnToService=2
# Open MPI names its shared memory after the job: two clusters of one machine must not both begin with 1.
FirstJobId=$port
SlurmdParameters=config_overrides
NodeName=$names NodeAddr=127.0.0.1 $ports CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$names Default=YES MaxTime=INFINITE State=UP
END
for which in PROLOG EPILOG; do
    variable=TALEA_SLURM_$which
    [ -z "${!variable:-}" ] || echo "$which=${!variable}" >>"$folder/slurm.conf"
done
[ -z "${TALEA_SLURM_PROLOG:-}" ] || echo "PrologFlags=Alloc" >>"$folder/slurm.conf"
mkdir "$folder/state" "$folder/spool"
mkdir -m 1777 "$folder/tmp"
export SLURM_CONF=$folder/slurm.conf

head -c 1024 /dev/urandom >"$folder/munge.key"
chmod 600 "$folder/munge.key"
# Not daemons, so that their process ids are known; in sessions of their own, so that what ends the command from a terminal or
# by its group leaves them time to end its ranks.
setsid munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munge.pid" --log-file="$folder/munge.log" --seed-file="$folder/munge.seed" \
    >"$folder/munged.out" 2>&1 &
servers=("$!")
for _ in $(seq 50); do
    [ ! -S "$folder/munge.socket" ] || break
    sleep 0.1
done
[ -S "$folder/munge.socket" ] || give_up "munged does not start"
setsid slurmctld -D >"$folder/slurmctld.out" 2>&1 &
servers=("$!" "${servers[@]}")
for number in $(seq 0 $((nodes - 1))); do
    name=$host
    [ "$nodes" = 1 ] || name=kn$number
    mkdir "$folder/spool/$name"
    setsid slurmd -D -N "$name" >"$folder/slurmd-$name.out" 2>&1 &
    servers=("$!" "${servers[@]}")
done
are_up() {
    [ "$(sinfo -h -o "%D %t" 2>/dev/null)" = "$nodes idle" ]
}
for _ in $(seq 150); do
    ! are_up || break
    sleep 0.2
done
are_up || give_up "the nodes do not come up"

"$@" <&0 &
command=$!
servers=("$command" "${servers[@]}")
status=0
wait "$command" || status=$?
servers=("${servers[@]:1}")
exit "$status"
