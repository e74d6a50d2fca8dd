# Figures: which files, their data, their numbers against the tables, what is refused.
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --layers 7,29 --scorer last,window \
    --policy mean,independent,page-entrokv,random,clairvoyant --budget 0.05,0.1,0.2 \
    --curve log --quiet -o tables >/dev/null
"$KVREPLAY" ablate "$TRACES/smollm2-niah-1k.h5" --layers 7,29 --quiet -o tables
"$KVREPLAY" plot --list
"$KVREPLAY" plot tables -o figs --format svg,png,pdf,tex
echo "exit $?"
ls figs | sed 's/\.[a-z]*$//' | sort | uniq -c
find figs -size 0
find figs -name '*.svg' -size +2000k
find figs -name '*.tmp'
for name in policies needle-retention page-union finite-context; do
    cat "figs/$name.txt" "figs/$name.dat"
done

# Pooled over layers and groups of a sample by weight, then the mean over samples.
awk -F, -v OFS=' ' 'NR > 1 && $7 == 1 && ($5 == "last" || ($6 != "mean" && $6 != "independent" && $6 != "page-entrokv")) {
        key = $6 " " $8; sample[$2]; keys[key]
        w[key, $2] += $17; m[key, $2] += $16 * $17; v[key, $2] += $19; p[key, $2] += $18 * $19
        kept[key] += $14; context[key] += $9 }
    END { for (key in keys) { mass = peak = n = 0
            for (s in sample) { mass += m[key, s] / w[key, s]; peak += p[key, s] / v[key, s]; n++ }
            printf "%s %.6f %.6f %.6f\n", key, kept[key] / context[key], peak / n, mass / n } }' \
    tables/measures.csv | sort >expected
awk '/^#/ { policy = $2; sub(/:/, "", policy) }
    NF == 5 { gsub(/"/, "", $5); printf "%s %s %.6f %.6f %.6f\n", policy, $5, $1, $2, $3 }' \
    figs/policies.dat | sort >found
diff expected found && echo "policies.dat: $(wc -l <found) points equal the table"

# Every point of every curve lies within the extremes of the table; the median at k = T is 1.
awk -F, 'NR > 1 && $6 == 1 && $5 == "last" { if ($9 > most) most = $9 } END { print "largest UOR:", most }' \
    tables/curves.csv
awk 'NF == 8 && $5 > most { most = $5 } NF == 8 && $1 == 1 { print "at k = T:", $2, "of", $8 }
    /window/ { exit }' figs/uor-curves.dat

# Figures by name, other choices; what is not there.
"$KVREPLAY" plot tables -o some --figures weights,uor-curves --scorer window --quiet
ls some
"$KVREPLAY" plot tables -o some --figures weight
echo "exit $?"
"$KVREPLAY" plot tables -o some --budget 0.3
echo "exit $?"
"$KVREPLAY" plot tables -o some --format svg,jpg
echo "exit $?"
"$KVREPLAY" plot tables
echo "exit $?"
"$KVREPLAY" plot nowhere -o none
echo "exit $?"
mkdir empty
"$KVREPLAY" plot empty -o none
echo "exit $?"

# A trace of which nothing is finite; a table that was cut off; no gnuplot.
"$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" --layers 4,5 --quiet -o nan
"$KVREPLAY" plot nan -o none
echo "exit $?"
head -c 20000 tables/bounds.csv >tables/cut && mv tables/cut tables/bounds.csv
"$KVREPLAY" plot tables -o none
echo "exit $?"
PATH=/nowhere "$KVREPLAY" plot nan -o none
echo "exit $?"
[ ! -e none ] && echo "nothing was left"
