# Curves over the quota: every row of bounds.csv reappears in curves.csv at its quota, whatever the
# spacing; without --curve there is no curves.csv.
replay() {
    "$KVREPLAY" replay "$TRACES/stories260k-512.h5" --samples 0 --quiet "$@" || echo "exit $?"
}
replay -o plain
[ ! -e plain/curves.csv ] && echo 'no curves without --curve'
for which in log all; do
    replay -o $which --curve $which --threads 1
    replay -o again --curve $which --threads 3
    cmp $which/curves.csv again/curves.csv && cmp plain/bounds.csv $which/bounds.csv
    awk -F, -v which=$which '
        FNR == 1 { next }
        FILENAME ~ /curves/ {
            key = $1
            for (i = 2; i <= 6; i++) key = key "," $i
            line[key "," $8] = $0
            rows++
            next
        }
        {
            key = $1
            for (i = 2; i <= 6; i++) key = key "," $i
            split(line[key "," $9], found, ",")
            same = found[7] == $8
            for (i = 10; i <= 19; i++) same = same && found[i - 1] "" == $i ""
            equal += same
            budgets++
        }
        END { print which ": " rows " rows; " equal " of " budgets " rows of bounds.csv are among them" }
    ' $which/curves.csv $which/bounds.csv
done
sed -n '1p;2,4p' log/curves.csv
grep ',4,3,last,16,' log/curves.csv | head -n 4
replay -o never --curve some
[ -e never ] || echo 'nothing was written'
