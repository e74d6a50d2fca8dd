# The study of analysis/PREDICTS.md again, from its live figures and the replay's measures of each sample.
study="$TRACES/study"
traces_of() { cut -d, -f1 "$study/live.csv" | sort -u | grep "^$1" | paste -sd, -; }
for task in needle prose; do
    echo "== $task"
    "$KVREPLAY" predict "$study" --live "$study/live.csv" --trace "$(traces_of $task)" --mix-pages --draws 200 || exit 1
done
