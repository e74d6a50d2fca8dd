# A trace damaged on purpose (traces/README.md): which groups are left out of which scorer, and the
# three rules of --nan.
trace="$TRACES/smollm2-nan-256.h5"
replay() {
    "$KVREPLAY" replay "$trace" --scorer last,window:4,accumulated --budget 0.1 --page-size 1 "$@"
}

replay -o exclude | sed -n '/^Checks/,$p'
cat exclude/excluded.csv
# An excluded group has no row in any other table.
for table in measures bounds heads needles premises; do
    awk -F, -v table=$table '
        FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "scorer") column = i; next }
        NR == FNR { excluded[$3, $4, $5] = 1; next }
        ($3, $4, $column) in excluded { print table ": a row of an excluded group:", $0 }
    ' exclude/excluded.csv exclude/$table.csv
done
# Disagreement is never taken for consensus: without the damaged groups UOR is well above 1.
awk -F, 'NR > 1 && $10 < 1.05 { print "UOR", $10, "in", $0 }' exclude/bounds.csv
# Layers with a group that is left out have no row for that scorer.
cut -d, -f3,4 exclude/layers.csv | sort -u

replay --nan zero -o zero | sed -n '/^Checks/,$p'
wc -l <zero/excluded.csv

replay --nan fail -o fail
echo "exit $?"
for layers in 0 1 2; do
    replay --nan fail -o fail --layers $layers --threads 3 --quiet
    echo "layer $layers: exit $?"
done
ls fail
