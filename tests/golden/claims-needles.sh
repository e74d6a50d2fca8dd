# Statements held against needle prompts at equal memory, as a page and as JSON.
tables=$(dirname "$0")/small-claims
"$KVREPLAY" claims "$tables"
echo "exit $?"
"$KVREPLAY" claims "$tables" --brief --draws 500 --seed 7 | sed -n '1,6p'
"$KVREPLAY" claims "$tables" --json >claims.json
echo "exit $?"
sed -n '1,/"claims"/p; /"id": "needle-vs-mean"/,/"id": "needle-vs-max"/p' claims.json
