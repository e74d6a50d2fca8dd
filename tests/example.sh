#!/bin/sh
# The worked example of analysis/POLICIES.md, "A new policy, a new score": what stands there is put
# into a copy of the tree, built, and must work without another line.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
: "${BUILD:=$root/build/release}"
: "${VARIANT:=release}"
: "${TRACES:=$root/traces}"
doc="$root/analysis/POLICIES.md"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
copy="$scratch/tree"
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

# The code block behind a marker such as "example: replay/policy.c, row".
block() {
    awk -v marker="<!-- example: $1 -->" '
        $0 == marker { wanted = 1; next }
        wanted && /^```c/ { on = 1; next }
        on && /^```/ { exit }
        on { print }' "$doc"
}

# Puts a block into a file: a whole file, a row before the end of the registry, an include.
place() { # file, kind
    block "$1, $2" >"$scratch/block"
    [ -s "$scratch/block" ] || return 1
    case $2 in
    file) cp "$scratch/block" "$copy/$1" ;;
    row) awk -v block="$scratch/block" '
        $0 == "    {.name = NULL}," { while ((getline line <block) > 0) print line }
        { print }' "$copy/$1" >"$scratch/new" && cp "$scratch/new" "$copy/$1" ;;
    include) awk -v block="$scratch/block" '
        /^#include/ { last = NR }
        { text[NR] = $0 }
        END {
            for (i = 1; i <= NR; i++) {
                print text[i]
                if (i == last) while ((getline line <block) > 0) print line
            }
        }' "$copy/$1" >"$scratch/new" && cp "$scratch/new" "$copy/$1" ;;
    esac
}

# Objects come along, with their times, so that only what the example changes is compiled.
mkdir -p "$copy/build/$VARIANT"
(cd "$root" && cp -Rp Makefile .ci formats replay analysis plots "$copy" 2>/dev/null
    mkdir "$copy/traces" && cp -p traces/*.[ch] "$copy/traces"
    cd "$BUILD" && cp -Rp formats replay analysis plots traces libkvreplay.a "$copy/build/$VARIANT" 2>/dev/null)
[ -d "$copy/replay/cli" ]
note 'the tree is copied' $?

marks=$(grep -c '^<!-- example: ' "$doc")
[ "$marks" -eq 5 ]
note "the document has the five blocks, found $marks" $?
while read -r file kind; do
    place "$file" "$kind"
    note "$file, $kind" $?
done <<END
replay/score_strided.h file
replay/score_strided.c file
replay/scorer.c include
replay/scorer.c row
replay/policy.c row
END
make -s -C "$copy" VARIANT="$VARIANT" CI=1 all >"$scratch/make" 2>&1
status=$?
[ $status -eq 0 ] || tail -n 20 "$scratch/make"
note 'it builds without a warning' $status

kvreplay="$copy/build/$VARIANT/kvreplay"
"$kvreplay" help policies >"$scratch/help"
[ "$(grep -c '^  strided' "$scratch/help")" -eq 2 ]
note 'the help lists the policy and the score' $?

"$kvreplay" replay "$TRACES/smollm2-niah-1k.h5" --samples 1 --layers 7 --scorer last --quiet \
    --budget 0.05,0.2 --policy 'strided,same=strided:8/layer/none/sinks:4,other=strided/mean/avg:3' \
    -o "$scratch/out"
note 'a trace is replayed' $?
measures="$scratch/out/measures.csv"
[ "$(grep -c ',strided:8,strided,' "$measures")" -eq 12 ] && [ "$(grep -c ',strided,other,' "$measures")" -eq 12 ]
note 'three groups, two page sizes, two budgets' $?
grep ',strided:8,strided,' "$measures" | sed 's/,strided,/,/' >"$scratch/named"
grep ',strided:8,same,' "$measures" | sed 's/,same,/,/' | cmp - "$scratch/named"
note 'the row is its stages' $?

# By hand: of 64 tokens at half the budget the 4 sinks are kept, of the 8 multiples of 8 the 7 that
# are no sinks, then the newest 21 of the others: a needle in their midst is kept in part.
"$kvreplay" synth "$scratch/made.h5" --tokens 64 --layers 1 --needles 1 --needle-length 6 --depth 0.9 \
    --decode 1 >/dev/null &&
    "$kvreplay" replay "$scratch/made.h5" --scorer last --quiet --budget 0.5 --page-size 1 \
        --policy strided -o "$scratch/out"
note 'a made trace is replayed' $?
tail -n +2 "$scratch/out/needles.csv" | cut -d, -f10-12 | sort -u >"$scratch/needle"
read -r spans <"$scratch/needle"
expected=$(echo "$spans" | awk -F, '{
    kept = 0
    for (t = $1; t < $2; t++) kept += t < 4 || t % 8 == 0 || t >= newest(21)
    printf "%d,%d,%.9g", $1, $2, kept / ($2 - $1)
}
# The first of the newest n that are neither sinks nor multiples of 8.
function newest(n,   t) {
    for (t = 63; n > 0; t--) n -= t >= 4 && t % 8 != 0
    return t + 1
}')
[ "$spans" = "$expected" ] && [ "$spans" = 38,44,0.666666667 ]
note "the needle is kept as by hand: $spans, $expected" $?

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
