# The ceiling: no set of as many tokens of a group keeps more future mass than clairvoyant's. Every
# row of every policy is held against it where it keeps no more tokens, on real and made traces.
rows=$("$KVREPLAY" help policies |
    awk '/^Policies:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }' | paste -s -d , -)
composed='a=window:4/max/max:7/sinks:4+recent:9,b=last/sum/avg:3,c=observed/layer/none/recent:0.3'
"$KVREPLAY" synth made.h5 --samples 3 --tokens 200 --layers 6 --window 70 --window-every 3 --qkv \
    --columns --head-dim 16 >/dev/null
"$KVREPLAY" synth ties.h5 --samples 2 --tokens 130 --layers 4 --ties --decode 5 >/dev/null
for trace in "$TRACES/smollm2-niah-1k.h5" "$TRACES/smollm2-nan-256.h5" made.h5 ties.h5; do
    "$KVREPLAY" replay "$trace" -o out --quiet --page-size 1 --budget 0.02,0.1,0.3,1 \
        --policy "$rows,$composed" 2>/dev/null || echo "exit $?"
    # Columns: 1-5 the cell and scorer, 6 policy, 8 budget, 14 kept tokens, 16 future mass.
    awk -F, -v trace="$(basename "$trace")" '
        { cell = $2 "," $3 "," $4 "," $8 }
        NR == FNR { if ($6 == "clairvoyant") { kept[cell] = $14; mass[cell] = $16 } next }
        FNR == 1 || $16 == "" || !(cell in kept) || $14 + 0 > kept[cell] + 0 { next }
        { held[$6] = 1; count++; beaten += $16 > mass[cell] + 1e-7 }
        END {
            for (policy in held) policies++
            print trace ": " count " rows of " policies " policies, " beaten + 0 " beat the ceiling"
        }' out/measures.csv out/measures.csv
done
