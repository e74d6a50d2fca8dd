# Figures of a prediction: which files, the data, the caption. The live table is made up.
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" -o replay --quiet --scorer last --layers 7,22 \
    --policy mean,snapkv,tova,random --budget 0.05,0.2 || exit 1
awk -F, '
    BEGIN { print "trace,sample,policy,scorer,page_size,budget,right,logprob,logprob_full,kl" }
    FNR > 1 && !($1 "," $2 "," $6 "," $5 "," $7 "," $8 in seen) {
        seen[key = $1 "," $2 "," $6 "," $5 "," $7 "," $8] = 1
        printf "%s,,%.3f,-0.5,%.3f\n", key, -0.5 - (++n * 37) % 50 / 10, n * 11 % 13 / 13
    }' replay/measures.csv >live.csv
"$KVREPLAY" predict replay --live live.csv --draws 100 --figures figs --format svg,png,pdf,tex >page.txt
echo "exit $?"
ls figs | sed 's/\.[a-z]*$//; s/-tex$//' | sort | uniq -c
find figs -size 0
cat figs/predict-future-peak-pooled-p16.txt figs/predict-future-peak-pooled-p16.dat
cat figs/predict-kept-bytes-sum-p1.txt
grep -c . page.txt

# Without gnuplot the page and the tables are there, and the run fails.
PATH=/nonexistent "$KVREPLAY" predict replay --live live.csv --draws 100 --figures none -o out >page.txt
echo "exit $?"
head -1 page.txt
ls out
"$KVREPLAY" predict replay --live live.csv --draws 100 --figures live.csv >page.txt
echo "exit $?"
"$KVREPLAY" predict replay --live live.csv --figures figs --format gif
echo "exit $?"
