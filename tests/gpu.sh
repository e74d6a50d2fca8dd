#!/bin/sh
# Replay on a device against the CPU: every case of the oracle, random synthetic traces and small
# memories must give the same tables, byte for byte; what a device cannot do must be told in one
# line. DEVICE names the device (opencl); without it everything is skipped, and said so.
# `gpu.sh [NAME…]` runs the named cases alone.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
: "${BUILD:=$root/build/release}"
: "${KVREPLAY:=$BUILD/kvreplay}"
: "${TRACES:=$root/traces}"
: "${DEVICE:=opencl}"
: "${RANDOM_TRACES:=40}"
tables="$BUILD/tests/oracle/tables"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

if ! "$KVREPLAY" devices | grep -q "^${DEVICE%%:*}:"; then
    "$KVREPLAY" devices | grep "^${DEVICE%%:*} "
    echo "skipped: there is no device $DEVICE"
    exit 0
fi

passed=0
failed=0
note() { # name, status
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
    fi
}

rows=$("$KVREPLAY" help policies |
    awk '/^Policies:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }' | paste -s -d , -)
[ -n "$rows" ] || exit 1

trim() { sed 's/^[[:space:]]*//; s/[[:space:]]*$//'; }

# One case; says what differs. Options hold no blanks within, so they are split as they stand.
# shellcheck disable=SC2086
run_case() { # trace, options
    work="$scratch/work"
    rm -rf "$work"
    mkdir "$work"
    case $1 in
    synth*)
        trace="$work/synth.h5"
        "$KVREPLAY" synth "$trace" ${1#synth} >/dev/null || return 1
        ;;
    *) trace="$TRACES/$1" ;;
    esac
    cpu=$2 device=$2
    case $2 in *--keep) cpu="$2 $work/cpu.h5" device="$2 $work/device.h5" ;; esac
    "$KVREPLAY" replay "$trace" -o "$work/cpu" --quiet $cpu >/dev/null || return 1
    "$KVREPLAY" replay "$trace" -o "$work/device" --quiet --threads 2 --device "$DEVICE" $device >/dev/null || return 1
    "$tables" "$work/cpu" "$work/device" || return 1
    for table in "$work"/cpu/*.csv; do
        cmp "$table" "$work/device/${table##*/}" || return 1
    done
}

# A trace and options that follow from a number.
random_case() { # number
    awk -v seed="$1" '
        function pick(list,    n, item) { n = split(list, item, " "); return item[int(rand() * n) + 1] }
        BEGIN {
            srand(seed)
            ratio = int(rand() * 16) + 1; kv = pick("1 1 2 3")
            tokens = int(exp(log(8) + rand() * log(400)))
            pad = rand() < 0.2 ? int(rand() * tokens / 2) : 0
            most = tokens - pad < 40 ? tokens - pad : 40
            printf "synth --seed %d --tokens %d --pad %d --rows %d --decode %d", \
                seed, tokens, pad, int(rand() * most) + 1, int(rand() * 4)
            printf " --query-heads %d --kv-heads %d", ratio * kv, kv
            printf " --layers %d --needles 0 --element %s --byte-order %s", int(rand() * 3) + 1, \
                pick("half half half bfloat16 float double"), pick("little little big")
            if (rand() < 0.3) printf " --ties"
            if (rand() < 0.2) printf " --nan 0.3"
            if (rand() < 0.2 && tokens > 8) printf " --window %d", int(rand() * tokens) + 1
            printf "|--page-size %s --page-reduce %s --nan %s --match %s", \
                pick("1 1,16 1,3,7 64 5"), pick("max mean sum"), pick("exclude zero"), \
                pick("nominal nominal physical")
            if (rand() < 0.5) printf " --policy ROWS"
        }'
}

asked=" $* "
while IFS='|' read -r name trace options; do
    name=$(echo "$name" | trim)
    case $name in '' | '#'*) continue ;; esac
    case $asked in "  " | *" $name "*) ;; *) continue ;; esac
    options=$(echo "$options" | sed "s/ROWS/$rows/")
    run_case "$(echo "$trace" | trim)" "$options" </dev/null
    note "$name" $?
done <"$root/tests/oracle/cases.txt"

# What goes wrong is told in one line, with at most a hint, and leaves no table.
refuses() { # exit status, words of the message, settings and options
    wanted=$1 words=$2
    shift 2
    rm -rf "$scratch/refused"
    env "$1" "$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" --layers 0 -o "$scratch/refused" --quiet --device "$2" \
        >/dev/null 2>"$scratch/message"
    found=$?
    [ "$found" -eq "$wanted" ] || { echo "exit status $found, expected $wanted"; return 1; }
    grep -q "^kvreplay replay: .*$words" "$scratch/message" || { cat "$scratch/message"; return 1; }
    [ "$(grep -vc '^hint: ' "$scratch/message")" -eq 1 ] || { cat "$scratch/message"; return 1; }
    [ ! -e "$scratch/refused/measures.csv" ]
}

falls_back() { # settings
    rm -rf "$scratch/refused"
    env "$1" "$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" --layers 0 -o "$scratch/refused" --device auto \
        >/dev/null 2>"$scratch/message" && grep -q '"device": "[a-z]' "$scratch/refused/run.json"
}

if [ $# -eq 0 ]; then
    run_case stories260k-512.h5 '--curve all --budget 0.1'
    note 'curves at every quota' $?
    run_case 'synth --tokens 2500 --rows 2 --ties --layers 1 --query-heads 8 --kv-heads 1' '--curve log --page-size 1,3'
    note 'curves of ties' $?
    refuses 1 'out of device memory' KVREPLAY_DEVICE_MEMORY=1000 "$DEVICE"
    note 'out of memory' $?
    refuses 2 'must be a number of bytes' KVREPLAY_DEVICE_MEMORY=1G "$DEVICE"
    note 'memory that is no number' $?
    refuses 2 'from 0 on' NOTHING=1 "${DEVICE%%:*}:99"
    note 'no device of that number' $?
    if [ "${DEVICE%%:*}" = opencl ]; then
        refuses 1 'no OpenCL platform is installed' OCL_ICD_VENDORS=/nonexistent "$DEVICE"
        note 'no platform' $?
        if "$KVREPLAY" devices | grep -q PoCL; then
            refuses 1 'opencl' POCL_CACHE_DIR=/dev/null "$DEVICE"
            note 'unwritable cache' $?
        fi
    fi
    falls_back OCL_ICD_VENDORS=/nonexistent
    note 'auto without a platform' $?
fi

if [ $# -eq 0 ]; then
    seed=1
    while [ "$seed" -le "$RANDOM_TRACES" ]; do
        case=$(random_case "$seed" | sed "s/ROWS/$rows/")
        run_case "${case%%|*}" "${case#*|}"
        note "random $seed: $case" $?
        seed=$((seed + 1))
    done
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
