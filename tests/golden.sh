#!/bin/sh
# Golden command tests: runs golden/NAME.sh and compares output, errors and exit status with
# NAME.out, NAME.err and NAME.exit. `golden.sh [--record] [NAME…]`; --record rewrites them.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
golden="$root/tests/golden"
: "${BUILD:=$root/build/release}"
: "${KVREPLAY:=$(cd "$BUILD" && pwd)/kvreplay}"
: "${TRACES:=$root/traces}"
export KVREPLAY TRACES LC_ALL=C

record=''
if [ "${1:-}" = --record ]; then
    record=1
    shift
fi
if [ $# -eq 0 ]; then
    set -- "$golden"/*.sh
fi

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# Runs one script in a folder of its own; leaves what it printed in $scratch/{out,err,exit}.
run_script() {
    rm -rf "$scratch/work"
    mkdir "$scratch/work"
    (cd "$scratch/work" && sh "$golden/$1.sh") >"$scratch/raw.out" 2>"$scratch/raw.err" </dev/null
    echo $? >"$scratch/exit"
    for stream in out err; do
        sed "s|$TRACES|TRACES|g; s|$KVREPLAY|kvreplay|g" "$scratch/raw.$stream" >"$scratch/$stream"
    done
}

passed=0
failed=0
for name in "$@"; do
    name=$(basename "$name" .sh)
    run_script "$name"
    same=1
    for stream in out err exit; do
        if [ -n "$record" ]; then
            cp "$scratch/$stream" "$golden/$name.$stream"
        elif ! diff -u --label "$name.$stream (expected)" --label "$name.$stream (found)" \
            "$golden/$name.$stream" "$scratch/$stream"; then
            same=''
        fi
    done
    if [ -n "$same" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
if [ -n "$record" ]; then
    echo "$passed recorded"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
