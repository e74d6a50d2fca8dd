# Predicting a model from a replay: the page, tables, figures, filters, and what cannot be. The live
# table is made up: a loss that mostly follows the future peak, with noise by row.
trace="$TRACES/smollm2-niah-1k.h5"
"$KVREPLAY" replay "$trace" -o replay --quiet --scorer last --layers 0,7,22 --match physical \
    --policy mean,max,snapkv,ada-snapkv,page-gate,tova,h2o,streaming-llm,random,clairvoyant \
    --budget 0.05,0.1,0.2 || exit 1
say() { echo "$*" && echo "$*" >&2; }
try() {
    say "\$ kvreplay predict $*"
    "$KVREPLAY" predict "$@"
    say "exit $?"
}
awk -F, '
    BEGIN { print "trace,sample,policy,scorer,page_size,budget,right,logprob,logprob_full,kl" }
    FNR > 1 {
        key = $1 "," $2 "," $6 "," $5 "," $7 "," $8
        if (!(key in whole)) keys[++count] = key
        part[key] += $18 * $19
        whole[key] += $19
    }
    END {
        for (i = 1; i <= count; i++) {
            loss = 3 * (1 - part[keys[i]] / whole[keys[i]]) + (i * 7919) % 101 / 250
            printf "%s,%d,%.6f,-0.2,%.6f\n", keys[i], loss < 0.6, -0.2 - loss, loss / 2 + (i * 31) % 7 / 70
        }
    }' replay/measures.csv >live.csv
try replay --live live.csv -o out --draws 400 --threads 3
try replay --live live.csv -o again --draws 400 --threads 1 --baseline last/mean --page-size 1 --budget 0.1
head -4 out/predict.csv
grep ',equal memory,,loss,future_' out/predict.csv
head -2 out/predict_points.csv
grep '^16,0.1,kl,last,mean' out/predict_policies.csv
"$KVREPLAY" predict replay --live live.csv -o one --draws 400 --threads 1 >one.txt
"$KVREPLAY" predict replay --live live.csv -o many --draws 400 --threads 7 >many.txt
cmp one.txt many.txt && diff -r one many && echo the same for any number of threads

# The rank correlation of a column by hand: mid-ranks by counting, then Pearson's.
awk -F, '
    FNR > 1 && $1 == 1 { x[++n] = $7; y[n] = -$20 }
    function rank(of, i,    j, r) {
        r = 1
        for (j = 1; j <= n; j++) r += of[j] < of[i] ? 1 : of[j] == of[i] && j != i ? 0.5 : 0
        return r - (n + 1) / 2
    }
    END {
        for (i = 1; i <= n; i++) {
            a = rank(x, i)
            b = rank(y, i)
            ab += a * b; aa += a * a; bb += b * b
        }
        printf "future peak, pooled, and loss over all %d settings: %+.4f\n", n, ab / sqrt(aa * bb)
    }' out/predict_points.csv
awk -F, '$1 == 1 && $2 == "all" && $4 == "loss" && $5 == "future_peak" && $6 == "pooled" { printf "in predict.csv: %+.4f\n", $9 }' \
    out/predict.csv

# Live rows without a counterpart, settings without live rows, mixed page sizes, two samples.
{
    grep -v ',tova,' live.csv
    echo 'other.h5,0,mean,last,1,0.1,1,-1,-1,0'
    echo 'smollm2-niah-1k.h5,0,mean,last,1,0.10,1,-1,-1,0'
} >partly.csv
try replay --live partly.csv --draws 200 --mix-pages --policy mean,max,tova,h2o,random --budget 0.1
grep -E '^(trace|smollm2-niah-1k.h5,[01]),' live.csv >two.csv
try replay --live two.csv --draws 200 --page-size 1 --policy mean,max,h2o,random --budget 0.1

# Again from what an earlier run left, without the replay's tables.
head -2 out/predict_samples.csv
mkdir small && cp out/predict_samples.csv small
"$KVREPLAY" predict small --live live.csv -o small --draws 400 >small.txt
"$KVREPLAY" predict replay --live live.csv --draws 400 | diff - small.txt
for table in predict predict_points predict_policies predict_samples; do cmp out/$table.csv small/$table.csv; done
for line in '2s/,[0-9]*,[0-9]*,0,/,1,0,0,/' '2p' '1s/,due,/,dew,/'; do
    mkdir -p broken && sed "$line" out/predict_samples.csv >broken/predict_samples.csv
    try broken --live live.csv
done

# What cannot be.
try replay
try --live live.csv
try missing --live live.csv
try replay --live missing.csv
try replay --live replay/measures.csv
try replay replay --live live.csv
try replay --live live.csv --policy meen
try replay --live live.csv --baseline tovo
try replay --live live.csv --slack -1
try replay --live live.csv --page-size 0
try replay --live live.csv --draws 10
try replay --live live.csv -o live.csv
head -1 live.csv >empty.csv
try replay --live empty.csv
{ head -1 live.csv && echo 'a.h5,0,mean,last,1,0.1,1,-1,-1,0'; } >other.csv
try replay --live other.csv
{ cat live.csv && echo 'smollm2-niah-1k.h5,0,mean,last,1,0.1,yes,-1,-1,0'; } >words.csv
try replay --live words.csv
find . -name '*.tmp'
