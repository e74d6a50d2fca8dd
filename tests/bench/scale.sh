#!/usr/bin/env bash
# One rank against two, and one shard against two at once, one thread each, on a raw trace: best of
# RUNS whole commands, launching and writing tables included. Fails where two take more than 0.6 of
# the time of one. For an idle machine with two cores and room in memory for the trace.
#
# SAMPLES=16 makes a trace of 6.7 GB (2: 0.8 GB; starting MPI takes a third of a second, so ranks
# want a long one); FOLDER=DIR keeps trace and tables there.
# shellcheck disable=SC2317 # functions are called by name
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${RUNS:=3}" "${SAMPLES:=16}" "${MPIRUN:=mpirun --oversubscribe}"
kvreplay=$root/build/release-mpi/kvreplay
plain=$root/build/release/kvreplay # shards need no MPI, and are spared its start
[ -x "$plain" ] || plain=$kvreplay
[ -x "$kvreplay" ] || {
    echo 'first: make MPI=1' >&2
    exit 1
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export TIMEFORMAT='%R %U'

if [ -n "${FOLDER:-}" ]; then
    mkdir -p "$FOLDER"
else
    FOLDER=$(mktemp -d)
    trap 'rm -rf "$FOLDER"' EXIT
fi
trace=$FOLDER/scale-$SAMPLES.h5
[ -e "$trace" ] || "$kvreplay" synth "$trace" --samples "$SAMPLES" --layers 8 --query-heads 32 \
    --kv-heads 8 --tokens 16384 --rows 32 --decode 16 --storage contiguous >/dev/null
cat "$trace" >/dev/null # every run finds it in memory
printf 'trace: %.2f GB raw, %s samples of 8 layers\n' \
    "$(stat -c %s "$trace" | awk '{ print $1 / 1e9 }')" "$SAMPLES"

with_ranks() { # number
    # shellcheck disable=SC2086 # a list of words
    $MPIRUN -n "$1" "$kvreplay" replay "$trace" --threads 1 --quiet -o "$FOLDER/ranks-$1"
}

with_shards() { # number
    local i folders=()
    for ((i = 1; i <= $1; i++)); do
        folders+=("$FOLDER/shard-$i")
        "$plain" replay "$trace" --threads 1 --quiet --shard "$i/$1" -o "$FOLDER/shard-$i" &
    done
    wait
    "$plain" merge "${folders[@]}" -o "$FOLDER/merged" --quiet
    rm -rf "${folders[@]}"
}

best() { # function, number: prints wall and user seconds of the fastest run
    local run
    for ((run = 0; run < RUNS; run++)); do
        { time "$1" "$2" 2>"$FOLDER/log"; } 2>&1
    done | sort -n | head -n 1
}

status=0
for how in with_ranks with_shards; do
    read -r one one_user < <(best $how 1)
    read -r two two_user < <(best $how 2)
    awk -v how="${how#with_}" -v one="$one" -v two="$two" -v u1="$one_user" -v u2="$two_user" '
        BEGIN { printf "%-7s one %.2f s (user %.2f), two %.2f s (user %.2f): %.3f of the time\n",
                       how, one, u1, two, u2, two / one; exit !(two <= 0.6 * one) }' || status=1
done
cmp "$FOLDER/ranks-1/measures.csv" "$FOLDER/ranks-2/measures.csv"
cmp "$FOLDER/ranks-1/measures.csv" "$FOLDER/merged/measures.csv"
exit $status
