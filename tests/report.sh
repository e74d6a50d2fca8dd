#!/bin/sh
# The report in a browser: no error on the console, no request, no page wider than the window at
# 1280 and 390 pixels, sorting, filters, visible focus; with and without its script, light and dark.
# Skipped where there is no Chromium. KEEP=FOLDER keeps pages and screenshots.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
: "${BUILD:=$root/build/release}"
: "${KVREPLAY:=$(cd "$BUILD" && pwd)/kvreplay}"
: "${TRACES:=$root/traces}"

browser=''
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        browser=$name
        break
    fi
done
if [ -z "$browser" ]; then
    echo 'skipped: there is no Chromium'
    exit 0
fi

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
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

browse() { # width, dark or light, page, options
    scheme=1
    [ "$2" = dark ] && scheme=0
    wide=$1
    address=$3
    shift 3
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$scratch/profile" --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --disable-default-apps --disable-extensions \
        --host-resolver-rules='MAP * ~NOTFOUND' \
        --blink-settings=preferredColorScheme=$scheme --window-size="$wide,900" \
        --enable-logging=stderr "$@" "file://$address"
}

# A copy of the page with the probe in it; `off` takes the page's own script out.
probe() { # page, on or off
    cp "$1" "$scratch/bare.html"
    [ "$2" = on ] || sed '/^<script>$/,/^<\/script>$/d' "$1" >"$scratch/bare.html"
    sed '/^<\/body>$/d; /^<\/html>$/d' "$scratch/bare.html" | awk -v on="$([ "$2" = on ] && echo true || echo false)" '
        { print }
        /^<meta charset/ {
            print "<script>window.failures = []; window.wantsScript = " on ";"
            print "window.addEventListener(\"error\", function (e) { failures.push(e.message) });"
            print "window.addEventListener(\"securitypolicyviolation\", function (e) {"
            print "failures.push(\"refused \" + e.blockedURI) });</script>" }'
    echo '<script>'
    cat "$root/tests/report_probe.js"
    echo '</script></body></html>'
}

check_page() { # name, page, script, width, scheme
    where="$1, script $3, $4 pixels, $5"
    probe "$2" "$3" >"$scratch/probe.html"
    browse "$4" "$5" "$scratch/probe.html" --dump-dom >"$scratch/dom" 2>"$scratch/log"
    sed -n '/<pre id="probe">/,/<\/pre>/p' "$scratch/dom" |
        sed 's/.*<pre id="probe">//; s/<\/pre>.*//; /^$/d' >"$scratch/found"
    [ -s "$scratch/found" ] && ! grep '^FAILED' "$scratch/found"
    note "$where" $?
    ! grep CONSOLE "$scratch/log"
    note "$where: console" $?
}

# True if the page asks for something that is not in it. The browser's own requests, for updates
# and such, have no origin.
asks_for_more() { # page
    browse 1280 light "$1" --dump-dom "--log-net-log=$scratch/net.json" >/dev/null 2>&1
    grep -q '"constants"' "$scratch/net.json" || echo 'the browser logged nothing'
    grep -E '"url":"(https?|wss?):' "$scratch/net.json" | grep '"initiator":' |
        grep -v '"initiator":"not an origin"' | grep -oE '"url":"[^"]*"' | grep .
}

take_pictures() { # name, page
    for width in 1280 390; do
        for scheme in light dark; do
            browse "$width" "$scheme" "$2" "--screenshot=$KEEP/$1-$width-$scheme.png" 2>/dev/null
        done
    done
}

[ -z "${KEEP:-}" ] || mkdir -p "$KEEP"
for name in smollm2-niah-1k smollm2-nan-256; do
    "$KVREPLAY" replay "$TRACES/$name.h5" --quiet -o "$scratch/$name" >/dev/null &&
        "$KVREPLAY" report "$scratch/$name" --draws 200 -o "$scratch/$name.html" >/dev/null
    note "$name: the report is written" $?
    check_page "$name" "$scratch/$name.html" on 390 dark
    [ -z "${KEEP:-}" ] || take_pictures "$name" "$scratch/$name.html"
done
page="$scratch/smollm2-niah-1k.html"
check_page smollm2-niah-1k "$page" on 1280 light
check_page smollm2-niah-1k "$page" off 390 light
! asks_for_more "$page"
note 'requests' $?

# The same page with a picture from elsewhere is caught, and refused by its own policy.
sed 's|<main>|<main><img src="http://example.invalid/x.png">|' "$page" >"$scratch/leak.html"
! asks_for_more "$scratch/leak.html"
note 'the policy of the page refuses what is not in it' $?
sed -i 's|<meta http-equiv[^>]*>||' "$scratch/leak.html"
asks_for_more "$scratch/leak.html" >/dev/null
note 'a request is found where there is one' $?
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
