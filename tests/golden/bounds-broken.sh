# Tables that were tampered with must end with exit status 3 and name every violation's cell.
tables=$(dirname "$0")/small-bounds

# A copy of the tables in which one sed script changed one file.
tamper() { # file, sed script
    rm -rf broken
    cp -r "$tables" broken
    sed "$2" "$tables/$1" >"broken/$1"
    cmp -s "$tables/$1" "broken/$1" && echo "nothing was changed by $2"
    echo "\$ sed '$2' $1"
    "$KVREPLAY" bounds broken | sed -n '/violation/,$p'
    "$KVREPLAY" bounds broken >/dev/null
    echo "exit $?"
}
tamper bounds.csv '2s/,2.2$/,2.1/'                # hunter_upper below the UOR
tamper bounds.csv '2s/,1.7584727584727586,/,1.76,/' # bonferroni_lower is not what J gives
tamper bounds.csv '/stories.*,1,0.1,/s/0.619047619047619[01]/0.62/g'
tamper bounds.csv '3s/,2.019607843137255,/,2.02,/'  # no whole number of tokens
tamper premises.csv '2s/,1$/,0/'
"$KVREPLAY" bounds broken --json | sed -n '/"violations"/,$p'
sed 's/,2[.]2$/,2.1/; s/,1,1,2,1,1,1,1$/,1,1,2,1,1,3,1/' "$tables/bounds.csv" >broken/bounds.csv
"$KVREPLAY" bounds broken --limit 1 | sed -n '/violations:/,$p'
"$KVREPLAY" bounds broken --limit 0 >all
grep -c '(bounds.csv line' all
"$KVREPLAY" bounds broken >/dev/null
