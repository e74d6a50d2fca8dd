#!/bin/sh
# The help of every command: it exists, fits the width, shows every option of the command's table
# and what the interfaces promise, and the two ways to ask for it agree.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
: "${BUILD:=$root/build/release}"
: "${KVREPLAY:=$(cd "$BUILD" && pwd)/kvreplay}"

# Promised to scripts: these may be added to, not taken away.
promised_of() {
    case $1 in
    replay)
        echo '-o --policy --scorer --budget --page-size --page-reduce --tau --alpha --sinks
              --entropy-window --sink-threshold --retrieval-mass --retrieval-support --match --nan
              --samples --layers --threads --device --quiet --keep'
        ;;
    quota) echo '--layers --kv-heads --page --budget' ;;
    compare) echo '--baseline --metric --page-size --budget --scorer --csv --json' ;;
    predict) echo '--live -o --figures --policy --budget --page-size' ;;
    import) echo '-o --kv-heads --layout' ;;
    plot | report | ablate) echo '-o' ;;
    esac
}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0
note() { # what, exit status of the check
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
    fi
}

too_wide() { # UTF-8 continuation bytes take no column
    LC_ALL=C sed 's/[\x80-\xbf]//g' "$1" | awk 'length > 80 { found = 1; print } END { exit !found }'
}

"$KVREPLAY" help >"$scratch/list" 2>"$scratch/err"
note 'kvreplay help' $?
! too_wide "$scratch/list"
note 'kvreplay help: at most 80 columns' $?
commands=$(awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }' "$scratch/list")
[ -n "$commands" ]
note 'kvreplay help lists commands' $?

for command in $commands; do
    "$KVREPLAY" "$command" --help >"$scratch/help" 2>"$scratch/err"
    note "kvreplay $command --help" $?
    "$KVREPLAY" help "$command" 2>&1 | cmp -s - "$scratch/help" && [ ! -s "$scratch/err" ]
    note "kvreplay help $command says the same" $?
    ! too_wide "$scratch/help"
    note "kvreplay $command --help: at most 80 columns" $?
    source="$root/replay/cli/cmd_$command.c"
    tabled=$(sed -n 's/^ *{"\(--*[a-z][a-z-]*\)",.*/\1/p' "$source")
    for option in $tabled $(promised_of "$command"); do
        grep -Eq "^  $option( |\$)" "$scratch/help"
        note "kvreplay $command --help shows $option" $?
    done
    "$KVREPLAY" "$command" --no-such-option >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 2 ] && [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" -le 2 ] &&
        grep -q '^kvreplay [a-z]*: unknown option "--no-such-option"$' "$scratch/err"
    note "kvreplay $command refuses an unknown option" $?
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
