# A small replay: its summary, and the tables' names and headers.
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --samples 0,3 --layers 7,29 --scorer last \
    --policy independent,page-entrokv --budget 0.05,0.2 --page-size=1,16 -o out --threads 3
echo "exit $?"
for table in out/*.csv; do
    echo "$table: $(wc -l <"$table") lines"
    head -n 1 "$table"
done
"$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" --policy mean --scorer window:4,last \
    --budget 0.1 --page-size 1 -o nan
echo "exit $?"
cat nan/excluded.csv
"$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" -o quiet --quiet
echo "exit $?"
