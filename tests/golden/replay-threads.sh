# Tables do not depend on the number of threads, whichever policies look beyond a group; every
# table of one run against the same of another, byte for byte.
policies=independent,mean,page-entrokv,streaming-llm,random,h2o,tova,snapkv,pyramidkv,ada-snapkv
policies=$policies,page-gate,model-mass,clairvoyant
for threads in 1 2 5; do
    "$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --samples 1,4 --policy $policies --scorer last \
        --budget 0.05,0.3 --page-size 1,16 --threads $threads -o $threads --quiet
    echo "$threads threads: exit $?"
done
# Nor on how much memory they may take together.
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --samples 1,4 --policy $policies --scorer last \
    --budget 0.05,0.3 --page-size 1,16 --threads 5 --memory 32M -o small --quiet
echo "32 MB: exit $?"
for size in 31M 1 4X M 1e9 99999999999G; do
    "$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --memory $size -o refused
done
for table in 1/*.csv; do
    name=$(basename "$table")
    for threads in 2 5 small; do
        cmp "$table" "$threads/$name"
    done
    echo "$name: $(wc -l <"$table") lines"
done
# run.json tells the runs apart.
grep -h '"threads"' 1/run.json 2/run.json 5/run.json
