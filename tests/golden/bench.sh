# The smallest benchmark: what it prints without its figures, and that nothing of it is left.
small() {
    TMPDIR=$PWD "$KVREPLAY" bench --layers 1 --query-heads 4 --kv-heads 2 --tokens 512 --rounds 1 --threads 1 "$@"
}
small --peers none --python /nonexistent --json bench.json >page || exit 1
sed -E 's/[0-9][0-9.e+-]*/N/g; s/ +/ /g; s/^ //' page
sed -E 's/: [0-9].*,$/: N,/; s/: [0-9].*$/: N/; s/"version.*/"version",/' bench.json | sort -u
ls

"$KVREPLAY" bench --tokens 8
echo "exit $?"
small --folder bench.json/in
echo "exit $?"
ls
