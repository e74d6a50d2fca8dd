# Tables that cannot be read are an error of their own, with file, line and column.
tables=$(dirname "$0")/small-bounds
try() {
    echo "\$ kvreplay bounds $*"
    "$KVREPLAY" bounds "$@" 2>&1
    echo "exit $?"
}
try
try nowhere
try nowhere --limit x
cp -r "$tables" cut
head -c 1000 "$tables/bounds.csv" >cut/bounds.csv
try cut
sed 's/j_max/j_most/' "$tables/bounds.csv" >cut/bounds.csv
try cut
sed '4s/0.59375/0,59375/' "$tables/bounds.csv" >cut/bounds.csv
sed '3s/,last,/,last,,/' "$tables/bounds.csv" >cut/bounds.csv
try cut
cp "$tables/bounds.csv" cut
sed '2s/[.]/x/2' "$tables/premises.csv" >cut/premises.csv
try cut
head -n 1 "$tables/bounds.csv" >cut/bounds.csv
rm cut/premises.csv
try cut
