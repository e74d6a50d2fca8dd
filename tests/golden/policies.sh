# Named and composed policies: what the tables say of them, what a trace cannot give, and what is no
# policy.
try() {
    echo "\$ kvreplay replay $*" >&2
    "$KVREPLAY" replay "$@" >/dev/null
    echo "exit $?" >&2
}
stories="$TRACES/stories260k-512.h5"
needles="$TRACES/smollm2-niah-1k.h5"

"$KVREPLAY" replay "$needles" --samples 0,4 --scorer last --budget 0.05,0.2 --page-size 1 -o named \
    --policy max,snapkv,snapkv-heads,pyramidkv,ada-snapkv,page-gate,model-mass,h2o,tova,clairvoyant,mine=window:4/max/max:7/sinks:4+recent:32/layer:0.5,gated=last/mean/none/none/gate:0.2+pyramid:2
cat named/gate.csv
head -n 4 named/agreement.csv
cut -d, -f6 named/allocation.csv | sort | uniq -c

# Totals are conserved: what a layer's groups get, and what all layers get, is what is due.
"$KVREPLAY" replay "$needles" --scorer last --budget 0.02,0.1,0.5 --page-size 1,7,16 -o shared --quiet \
    --policy pyramidkv,ada-snapkv,model-mass,p=last/layer/none/recent:5/pyramid:1.5,m=accumulated/max/avg:9/sinks:2/model:0 2>/dev/null
awk -F, '
    FNR == 1 { next }
    {
        layer = $6 == "ada-snapkv" ? $3 : "all"
        key = $6 "," $2 "," layer "," $7 "," $8
        due[key] += $9; got[key] += $10; policy[key] = $6
    }
    END {
        for (key in due) { totals[policy[key]]++; wrong[policy[key]] += due[key] != got[key] }
        for (p in totals) print p ": " totals[p] " totals, " wrong[p] " not conserved"
    }' shared/allocation.csv | sort

# The same scores and rankings serve every policy: what one is given does not change another.
"$KVREPLAY" replay "$needles" --samples 0,4 --scorer last --budget 0.05,0.2 --page-size 1 -o alone \
    --quiet --policy snapkv 2>/dev/null
grep ',snapkv,' named/measures.csv >expected
tail -n +2 alone/measures.csv | cmp - expected && echo 'a policy alone is as it is among others'

# What a trace cannot give: a note in a list, an error alone.
try "$needles" --policy mean,knorm,learned,clairvoyant --scorer last -o list --layers 0 --samples 0
try "$needles" --policy knorm -o none
try "$needles" --policy learned:gate -o none
try "$stories" --policy clairvoyant -o none --samples 1
try "$stories" --policy keydiff,clairvoyant -o keys --samples 0

# What is no policy.
for policy in nothing =last mine= mine=lost mine=last/middle mine=last/mean/avg:4 \
    mine=last/mean/none/sinks mine=last/mean/none/none/pyramid:0.5 mine=last/head/none/none/model:0 \
    mine=last/mean/none/none/uniform/more snapkv:3 mine=last/mean/none/recent:1.5; do
    try "$needles" -o none --policy "$policy"
done
try "$needles" -o none --policy mine=last/mean,mine=last/max
ls
