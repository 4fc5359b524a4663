#!/bin/sh
# Runs one rank of a program under the independent logger (apps/logger), in front of whatever else is preloaded.
#
#   mpirun.openmpi -n 4 scripts/with-logger.sh openmpi DIR program [arguments]
#   talea run -- mpirun.mpich -n 4 scripts/with-logger.sh mpich DIR program [arguments]
#
# DIR gets rank-N.log for each rank; see apps/logger/log.h for what is in it.
set -eu

if [ $# -lt 3 ] || { [ "$1" != openmpi ] && [ "$1" != mpich ]; }; then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
library=$(cd "$(dirname "$0")/.." && pwd)/apps/bin/$1/liblogger.so
if [ ! -e "$library" ]; then
    echo "with-logger: not built: $library (make apps)" >&2
    exit 3
fi
mkdir -p "$2"
LOGGER_DIR=$(cd "$2" && pwd)
LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}
export LOGGER_DIR LD_PRELOAD
shift 2
exec "$@"
