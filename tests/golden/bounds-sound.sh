# Tables on which everything holds: a page, JSON, and a folder that holds bounds.csv alone.
tables=$(dirname "$0")/small-bounds
"$KVREPLAY" bounds "$tables"
echo "exit $?"
"$KVREPLAY" bounds "$tables" --json >report.json
echo "exit $?"
sed -n '1,/},/p; /"certificates"/,/},/p; /"identity"/,$p' report.json
mkdir alone
cp "$tables/bounds.csv" alone
"$KVREPLAY" bounds alone | tail -n 5
