# Tables of a paper: every form, the choice of lines, folders, what is refused.
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --layers 7,29 --scorer last,window \
    --policy independent,mean,random --budget 0.05,0.2 --page-size 1,16 --quiet -o out >/dev/null
"$KVREPLAY" table out --table union,masquerade --draws 1000
"$KVREPLAY" table out --table policies --budget 0.2 --page-size 16 --scorer last --format latex --draws 1000
"$KVREPLAY" table out --table needles --policy mean,random --page-size 1 --format csv --draws 1000
"$KVREPLAY" table out -o tables --format csv --draws 100
for table in tables/*; do
    echo "$table: $(wc -l <"$table") lines"
    head -n 1 "$table"
done
"$KVREPLAY" table out -o one.md --table bounds --draws 100
head -n 8 one.md

# The mean over groups is the one of the replay's own table.
awk -F, 'NR > 1 && $5 == "last" && $6 == 16 && $7 == "0.2" { sum += $10; n++ }
    END { printf "%.9g\n", sum / n }' out/bounds.csv
"$KVREPLAY" table out --table union --scorer last --page-size 16 --budget 0.2 --format csv \
    --draws 100 | tail -n 1 | cut -d, -f6

# One prompt: no intervals; excluded groups are told.
"$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" --policy mean --budget 0.1 --page-size 1 \
    --quiet -o nan >/dev/null
"$KVREPLAY" table nan --table union,policies

# Refused.
for arguments in 'out --table unions' 'out --table union,union' 'out --format html' \
    'out --budget 0.3' 'out --policy best' 'out --page-size 0' 'out --draws 5' 'missing'; do
    # shellcheck disable=SC2086 # a list of words
    "$KVREPLAY" table $arguments
    echo "exit $?"
done
