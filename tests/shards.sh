#!/bin/sh
# A replay that is cut gives the same bytes: shards merged, runs killed at five points and resumed,
# and, on a build with MPI, ranks of a job; three traces together, policies of a group and of a
# sample. What goes wrong ends with one line and leaves nothing half-written.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
: "${BUILD:=$root/build/release}"
: "${KVREPLAY:=$(cd "$BUILD" && pwd)/kvreplay}"
: "${TRACES:=$root/traces}"
: "${MPIRUN:=mpirun --oversubscribe}"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
passed=0
failed=0
note() { # what, exit status of the check
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
    fi
}

three="$TRACES/smollm2-niah-1k.h5 $TRACES/stories260k-512.h5 $TRACES/smollm2-nan-256.h5"
options_of() { # group or sample
    case $1 in
    group) echo '--scorer last,accumulated --policy independent,mean,page-entrokv' ;;
    sample) echo '--scorer last --policy mean,tova,pyramidkv,ada-snapkv,page-gate,model-mass --curve log' ;;
    slow) echo '--scorer last --policy mean,ada-snapkv --curve all --threads 1' ;;
    esac
}

same_tables() { # folder, folder
    for table in "$1"/*.csv; do
        cmp "$table" "$2/${table##*/}" || return 1
    done
    [ "$(ls "$1")" = "$(ls "$2")" ]
}

# Nothing but whole parts and tables that were there before.
nothing_half_written() { # folder
    [ -z "$(find "$1" -name '*.tmp' -o -name '*.csv')" ]
}

# shellcheck disable=SC2046,SC2086 # lists of words
replay() { # kind, options
    kind=$1
    shift
    "$KVREPLAY" replay $three $(options_of "$kind") --quiet "$@"
}

for kind in group sample slow; do
    replay $kind -o "whole-$kind" 2>err
    note "whole replay, $kind" $?
done

# ------------------------------------------------------------------------------- shards
for kind in group sample; do
    for count in 1 3 7; do
        for index in $(seq $count); do
            replay "$kind" --shard "$index/$count" -o "$kind-$count-$index" 2>err ||
                note "shard $index/$count, $kind" 1
        done
        "$KVREPLAY" merge "$kind-$count"-* -o "merged-$kind-$count" --quiet &&
            same_tables "whole-$kind" "merged-$kind-$count"
        note "$count shards merged, $kind" $?
    done
done
[ "$(find group-7-1/parts -name '*.part' | wc -l)" -lt 46 ]
note 'a shard holds only its own units' $?

# Samples that are fewer than the shards, and a shard without any unit.
for index in 1 2 3; do
    "$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" --layers 1 --shard $index/3 -o "few-$index" --quiet
done
"$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" --layers 1 --quiet -o few
"$KVREPLAY" merge few-3 few-1 few-2 -o few-merged --quiet && same_tables few few-merged
note 'shards without units, named in any order' $?

# ------------------------------------------------------------------------------- resuming
# Kills the replay with SIGKILL once a file is there; false if it was done before that.
killed_at() { # file, folder
    rm -rf "$2"
    # No function: the signal is for the replay itself, not for a shell around it.
    # shellcheck disable=SC2046,SC2086
    "$KVREPLAY" replay $three $(options_of slow) --quiet --resume -o "$2" 2>err &
    while [ ! -e "$2/$1" ] && kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -s KILL $! 2>/dev/null
    wait $! 2>/dev/null
    [ $? -eq 137 ]
}

kill_at() { # file, folder
    tries=0
    until killed_at "$1" "$2" || [ $tries -eq 20 ]; do tries=$((tries + 1)); done
    [ $tries -lt 20 ]
    note "the replay was killed at $1" $?
}

for point in parts/plan.json parts/000001.part parts/000004.part parts/000007.part curves.csv.tmp; do
    kill_at $point resumed
    [ ! -e resumed/measures.csv ]
    note "no table yet at $point" $?
    replay slow --resume -o resumed 2>err && same_tables whole-slow resumed
    note "resumed after a kill at $point" $?
done

# At least four parts were done; two of them are damaged.
kill_at parts/000004.part resumed
truncate -s -9 resumed/parts/000001.part
printf x | dd of=resumed/parts/000002.part bs=1 seek=100 conv=notrunc 2>dd.err
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --resume -o resumed --quiet 2>err
[ $? -eq 1 ] && grep -q 'parts/plan.json": /replay/options/policy: expected' err
note 'parts of another replay are refused' $?
replay slow --resume --shard 1/1 -o resumed 2>err
[ $? -eq 1 ] && grep -q 'parts/plan.json": /shard' err
note 'parts of no shard are refused for a shard' $?
# shellcheck disable=SC2046,SC2086
"$KVREPLAY" replay $three $(options_of slow) --resume -o resumed 2>err >out &&
    grep -q '^note: [2-7] of 9 units were replayed before$' err && same_tables whole-slow resumed
note 'damaged parts are made again, good ones are not' $?

# ------------------------------------------------------------------------------- ranks of a job
one_line() { # expected text
    [ "$(grep -c '^kvreplay ' err)" -eq 1 ] && grep -q "^kvreplay replay: .*$1" err
}

# shellcheck disable=SC2086 # a list of words
ranks() { # number, kind, options
    number=$1
    kind=$2
    shift 2
    # shellcheck disable=SC2046
    $MPIRUN -n "$number" "$KVREPLAY" replay $three $(options_of $kind) --quiet --threads 1 "$@" 2>err
}

check_ranks() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    for kind in group sample; do
        for number in 1 2 3 7; do
            ranks "$number" "$kind" -o "ranks-$kind-$number" &&
                same_tables "whole-$kind" "ranks-$kind-$number"
            note "$number ranks, $kind" $?
        done
    done

    ranks 3 group --budget 2 -o refused
    [ $? -eq 2 ] && one_line '--budget' && [ ! -e refused ]
    note 'a wrong command line is told once' $?

    # The file of one rank is cut: the same name, elsewhere.
    mkdir cut
    head -c 3000000 "$TRACES/smollm2-niah-1k.h5" >cut/smollm2-niah-1k.h5
    $MPIRUN -n 1 "$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --quiet -o cut-out : \
        -n 1 "$KVREPLAY" replay cut/smollm2-niah-1k.h5 --quiet -o cut-out 2>err
    [ $? -eq 1 ] && one_line 'cut off' && [ ! -e cut-out ]
    note 'the file of one rank is cut' $?

    # One rank meets a damaged value while the others work.
    ranks 2 group --nan fail -o failing
    [ $? -eq 1 ] && grep -q '^kvreplay replay: .*not finite' err && nothing_half_written failing
    note 'a rank that fails ends the job' $?

    # No room for a table on rank 0; then a part is cut, too; then there is room.
    mkdir full
    ln -s /dev/full full/bounds.csv.tmp
    ranks 3 group -o full
    [ $? -eq 1 ] && one_line 'No space left' && nothing_half_written full
    note 'a full disk on rank 0' $?
    truncate -s 1000 full/parts/000003.part
    ranks 3 group --resume -o full && same_tables whole-group full
    note 'resumed by the ranks' $?

    ranks 2 group --shard 1/2 -o refused
    [ $? -eq 2 ] && one_line '--shard'
    note 'ranks and shards exclude each other' $?
}

if [ -n "${MPI:-}" ]; then
    check_ranks
else
    echo 'ranks are tested by: make check MPI=1'
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
