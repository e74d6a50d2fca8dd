# A report: one file, sound HTML, nothing that leaves it; what is refused.
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --layers 7,29 --scorer last,window \
    --policy mean,random --budget 0.05,0.2 --page-size 1 --quiet -o out >/dev/null
"$KVREPLAY" report out -o page.html --draws 100
echo "exit $?"
ls page.html*

# Text without the style, the script and the drawings, whose content is not ours.
sed '/^<style>/,/^<\/style>/d; /^<script>/,/^<\/script>/d; /<svg/,/<\/svg>/d' page.html >text
echo "sections: $(grep -o '<section id="[a-z]*"' text | tr '\n' ' ')"
echo "references: $(grep -cE '(src|href)="[^#d]' text) beyond the page"
grep -v 'www.w3.org' page.html | grep -ciE 'https?://'

# Every element that opens closes, in order.
tr '\n' ' ' <text | sed 's/<!DOCTYPE html>//; s/</\n</g' | grep -oE '^</?[a-z0-9]+' |
    grep -vE '^<(meta|link|br)$' | awk '
    /^<\// { if (open[depth] != substr($0, 3)) { print "closes " $0 " in " open[depth]; bad = 1 }
             depth--; next }
    { open[++depth] = substr($0, 2); count++ }
    END { print (depth == 0 && !bad ? "well formed" : "broken"), (count > 500) }'
echo "ids twice: $(grep -oE ' id="[^"]*"' text | sort | uniq -d | wc -l)"
sed -n '/class="cards"/,/^<h3>What/p' text

# The numbers of the page are those of the CSV.
"$KVREPLAY" table out --table union --format csv --draws 100 | tail -n +2 | cut -d, -f6 |
    while read -r number; do
        grep -q "data-v=\"$number\"" text || echo "$number is not in the page"
    done

rm out/run.json
"$KVREPLAY" report out -o page.html --draws 100 && grep -c 'run.json, which tells' page.html
echo '{"version": }' >out/run.json
"$KVREPLAY" report out -o other.html
echo "exit $?"
"$KVREPLAY" report out
echo "exit $?"
"$KVREPLAY" report missing -o other.html
echo "exit $?"
ls other.html* 2>/dev/null
