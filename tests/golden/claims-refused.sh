# Folders that are no replay.
tables=$(dirname "$0")/small-nan
try() {
    echo "\$ kvreplay claims $*"
    "$KVREPLAY" claims "$@" 2>&1
    echo "exit $?"
}
try
try nowhere
try "$tables" --draws 99 | sed 's|claims .*/small-nan|claims TABLES|'
cp -r "$tables" broken
echo '{"options": {"match": "physical",}}' >broken/run.json
try broken
echo '{"options": {"match": "physical"}}' >broken/run.json
try broken
cp "$tables/run.json" broken
rm broken/heads.csv
try broken
cp "$tables/heads.csv" broken
sed '3s/,contextual$/,contextal/' "$tables/heads.csv" >broken/heads.csv
try broken
