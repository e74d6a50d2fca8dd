# Groups that are not finite: excluded, counted, and what a careless replay would have made of them.
tables=$(dirname "$0")/small-nan
"$KVREPLAY" claims "$tables" --brief
echo "exit $?"
"$KVREPLAY" claims "$tables" --json | sed -n '/"not_finite"/,$p'
