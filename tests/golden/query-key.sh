# Traces that hold query and key instead of rows: what info, check and replay say of them, and that
# replay finds what it finds in the same rows, recorded.
try() {
    echo "\$ kvreplay $*"
    echo "\$ kvreplay $*" >&2
    "$KVREPLAY" "$@"
    echo "exit $?" >&2
}

# Two tables that differ by the rounding of weights to float alone.
same_table() {
    paste -d '|' "$1" "$2" | awk -F '|' -v name="$(basename "$1")" '
        {
            columns = split($1, a, ","); split($2, b, ",")
            for (i = 2; i <= columns; i++) {
                difference = a[i] - b[i]
                size = a[i] < 0 ? -a[i] : a[i] + 0
                if (a[i] != b[i] && (difference < 0 ? -difference : difference) > 2e-6 * (size > 1 ? size : 1))
                    bad++
            }
        }
        END { print name ": " NR " lines, " bad + 0 " values differ" }'
}

try info "$TRACES/smollm2-qk-500.h5"
try check "$TRACES/smollm2-qk-500.h5"
try replay "$TRACES/smollm2-qk-500.h5" -o model --policy mean --budget 0.1 --page-size 1 --quiet

shape="--tokens 300 --rows 290 --pad 10 --window 100 --window-every 2 --layers 3 --query-heads 6 --kv-heads 2"
vectors="--qkv --head-dim 40 --softcap 30 --element double"
# shellcheck disable=SC2086
"$KVREPLAY" synth rows.h5 $shape $vectors >/dev/null
# shellcheck disable=SC2086
"$KVREPLAY" synth vectors.h5 $shape $vectors --attention no --accumulated no >/dev/null
policies=independent,mean,max,page-entrokv,h2o,tova,snapkv,pyramidkv,ada-snapkv,clairvoyant
for trace in rows vectors; do
    "$KVREPLAY" replay $trace.h5 -o $trace --policy $policies --quiet >/dev/null
done
KVREPLAY_CPU=scalar "$KVREPLAY" replay vectors.h5 -o plain --policy $policies --quiet >/dev/null
for table in rows/*.csv; do
    same_table "$table" "vectors/${table#rows/}"
    cmp "vectors/${table#rows/}" "plain/${table#rows/}"
done

# What query and key cannot give.
"$KVREPLAY" synth few.h5 --tokens 100 --rows 4 --decode 0 --qkv --attention no --accumulated no >/dev/null
try replay few.h5 -o few --scorer accumulated
try replay few.h5 -o few --scorer accumulated,last --policy clairvoyant,mean --budget 0.1 --page-size 1
"$KVREPLAY" synth late.h5 --tokens 100 --rows 0 --decode 4 --qkv --attention no --accumulated no >/dev/null
try replay late.h5 -o late
try replay late.h5 -o late --policy clairvoyant,keydiff --scorer last --budget 0.1 --page-size 1 --quiet
"$KVREPLAY" synth nan.h5 --tokens 100 --nan 0.3 --qkv --attention no --accumulated no >/dev/null
try check nan.h5 --layers 0
try replay nan.h5 -o nan --nan fail
try synth d.h5 --attention no
try synth d.h5 --softcap 30
try synth d.h5 --qkv --attention no --accumulated no --tokens 1000000
ls
