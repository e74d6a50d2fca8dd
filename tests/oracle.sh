#!/bin/sh
# kvreplay replay against the oracle: the same options on the same trace must give the same tables,
# and any number of threads the same bytes. `oracle.sh [NAME…]` runs the named cases of
# oracle/cases.txt, where a line is `name | trace | options of replay` and the trace is a bundled
# file or the word synth with options of that command. ROWS in the options stands for every policy
# but random, whose numbers are not fixed. With --keep the sets are also written to a file, and the
# oracle computes the tables once more from what that file holds.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
: "${BUILD:=$root/build/release}"
: "${KVREPLAY:=$BUILD/kvreplay}"
: "${TRACES:=$root/traces}"
oracle="$BUILD/tests/oracle/oracle"
tables="$BUILD/tests/oracle/tables"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

rows=$("$KVREPLAY" help policies |
    awk '/^Policies:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ && $1 != "random" { print $1 }' |
    paste -s -d , -)
[ -n "$rows" ] || exit 1

trim() { sed 's/^[[:space:]]*//; s/[[:space:]]*$//'; }
names_in() { (cd "$1" && ls ./*.csv); }

# The file of kept sets, the same for any number of threads, against the tables.
# shellcheck disable=SC2086
check_kept() {
    cmp "$work/1.h5" "$work/3.h5" &&
        "$oracle" "$trace" -o "$work/kept" --kept "$work/1.h5" $plain &&
        "$tables" "$work/kept" "$work/1"
}

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
    mkdir "$work/oracle"
    plain=${2%--keep}
    "$oracle" "$trace" -o "$work/oracle" $plain || return 1
    for threads in 1 3; do
        keep=
        [ "$plain" = "$2" ] || keep="--keep $work/$threads.h5"
        "$KVREPLAY" replay "$trace" -o "$work/$threads" --quiet --threads $threads $plain $keep >/dev/null ||
            return 1
    done
    [ -z "$keep" ] || check_kept || return 1
    names_in "$work/oracle" >"$work/expected"
    names_in "$work/1" | diff "$work/expected" - || return 1
    "$tables" "$work/oracle" "$work/1" || return 1
    while read -r name; do
        cmp "$work/1/$name" "$work/3/$name" || return 1
    done <"$work/expected"
}

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

"$oracle" --self-check
note self-check $?
asked=" $* "
while IFS='|' read -r name trace options; do
    name=$(echo "$name" | trim)
    case $name in '' | '#'*) continue ;; esac
    case $asked in "  " | *" $name "*) ;; *) continue ;; esac
    options=$(echo "$options" | sed "s/ROWS/$rows/")
    run_case "$(echo "$trace" | trim)" "$options" </dev/null
    note "$name" $?
done <"$root/tests/oracle/cases.txt"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
