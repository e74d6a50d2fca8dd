# Comparing policies: the page, another baseline and measure, CSV and JSON, several folders, and what
# cannot be compared.
trace="$TRACES/smollm2-niah-1k.h5"
replay() { "$KVREPLAY" replay "$trace" --quiet --scorer last --layers 0,7,22 "$@" 2>/dev/null || echo "exit $?"; }
say() { echo "$*" && echo "$*" >&2; }
try() {
    say "\$ kvreplay compare $*"
    "$KVREPLAY" compare "$@"
    say "exit $?"
}
policies=independent,mean,random,snapkv,snapkv-heads,ada-snapkv,page-gate,clairvoyant
replay -o nominal --policy $policies --budget 0.05,0.1,0.2
replay -o physical --policy $policies --budget 0.05,0.1,0.2 --match physical --page-size 1
try nominal
try physical --baseline snapkv --metric needle --budget 0.1
try physical --page-size 1 --policy mean,snapkv --json --budget 0.05 --seed 3
try nominal --policy mean,independent,clairvoyant --page-size 16 --budget 0.2 --csv out.csv --element-bytes 1
cat out.csv

# The figures of the page are those of the tables: future peak pooled by hand.
awk -F, '
    FNR > 1 && $6 == "snapkv" && $7 == 16 && $8 == "0.1" { part[$2] += $18 * $19; whole[$2] += $19 }
    END {
        for (sample in part) { sum += part[sample] / whole[sample]; count++ }
        printf "snapkv, pages of 16, 0.1: %.3f over %d samples\n", sum / count, count
    }' nominal/measures.csv

# Samples of one trace in two folders are samples like others; fewer than three give no interval.
replay -o first --samples 0,1 --policy random,mean --budget 0.1 --page-size 1
replay -o second --samples 3 --policy random,mean --budget 0.1 --page-size 1
try first
try first second
try first --csv no/such/folder.csv

# What does not go together.
try
try missing
try nominal physical
try first first
try first --metric peak
try first --baseline mode
try first --budget 0.2
try first --page-size 0
try first --csv second
rm first/needles.csv
try first
mkdir empty
try empty
printf '{}' >empty/run.json
try empty
find . -name '*.tmp'
