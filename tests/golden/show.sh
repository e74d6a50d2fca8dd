# One head's row: as text, as a figure, which row, what is refused.
trace=$TRACES/smollm2-niah-1k.h5
"$KVREPLAY" show "$trace" --quiet --sample 2 --layer 15 --head 4
"$KVREPLAY" show "$trace" --quiet --layer 29 --group 2 --policy mean,pyramidkv,ada-snapkv \
    --page-size 16 --budget 0.05 --top 0 --columns 100
"$KVREPLAY" show "$trace" --policy snapkv --top 2 --scorer window:4 -o figs --format svg,pdf
echo "exit $?"
ls figs
cat figs/head-row.txt
head -n 4 figs/head-row.dat
grep -A 9 '^# lane' figs/head-row.dat

# The mass of each policy is that of retained_mass where the group has one head.
"$KVREPLAY" synth one.h5 --samples 1 --layers 1 --query-heads 2 --kv-heads 2 --tokens 200 >/dev/null
"$KVREPLAY" show one.h5 --group 1 --policy mean,max --top 0 | grep -E '^  [ab] '
"$KVREPLAY" replay one.h5 --scorer last --policy mean,max --budget 0.1 --page-size 1 --quiet -o out
awk -F, '$4 == 1 { print $6, $14, 100 * $15 "%" }' out/measures.csv

"$KVREPLAY" show "$TRACES/smollm2-nan-256.h5" --layer 4
echo "exit $?"
"$KVREPLAY" show "$TRACES/smollm2-nan-256.h5" --layer 4 --nan zero --quiet --policy mean --top 1
echo "exit $?"
"$KVREPLAY" show "$trace" --sample nine
echo "exit $?"
"$KVREPLAY" show "$trace" --layer 3
echo "exit $?"
"$KVREPLAY" show "$trace" --group 3
echo "exit $?"
"$KVREPLAY" show "$trace" --group 1 --head 2
echo "exit $?"
"$KVREPLAY" show "$trace" --budget 0.1,0.2
echo "exit $?"
"$KVREPLAY" show "$trace" --scorer column:gate
echo "exit $?"
