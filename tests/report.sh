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

browse() { # width, dark or light, option, page
    scheme=1
    [ "$2" = dark ] && scheme=0
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$scratch/profile" --no-first-run --disable-background-networking \
        --blink-settings=preferredColorScheme=$scheme --window-size="$1,900" \
        --enable-logging=stderr "$3" "file://$4"
}

# A copy of the page with the probe in it; `off` takes the page's own script out.
probe() { # page, on or off
    cp "$1" "$scratch/bare.html"
    [ "$2" = on ] || sed '/^<script>$/,/^<\/script>$/d' "$1" >"$scratch/bare.html"
    sed '/^<\/body>$/d; /^<\/html>$/d' "$scratch/bare.html" | awk -v on="$2" '
        { print }
        /^<meta charset/ {
            print "<script>window.failures = []; window.wantsScript = " (on == "on") ";"
            print "window.addEventListener(\"error\", function (e) { failures.push(e.message) });"
            print "window.addEventListener(\"securitypolicyviolation\", function (e) {"
            print "failures.push(\"refused \" + e.blockedURI) });</script>" }'
    echo '<script>'
    cat "$root/tests/report_probe.js"
    echo '</script></body></html>'
}

check_page() { # name, page
    for script in on off; do
        probe "$2" "$script" | sed 's/wantsScript = 1/wantsScript = true/; s/wantsScript = 0/wantsScript = false/' \
            >"$scratch/probe.html"
        for width in 1280 390; do
            for scheme in light dark; do
                where="$1, $width pixels, $scheme, script $script"
                browse "$width" "$scheme" --dump-dom "$scratch/probe.html" \
                    >"$scratch/dom" 2>"$scratch/log"
                sed -n '/<pre id="probe">/,/<\/pre>/p' "$scratch/dom" |
                    sed 's/.*<pre id="probe">//; s/<\/pre>.*//; /^$/d' >"$scratch/found"
                [ -s "$scratch/found" ] && ! grep '^FAILED' "$scratch/found"
                note "$where" $?
                ! grep CONSOLE "$scratch/log"
                note "$where: console" $?
            done
        done
    done
    [ -z "${KEEP:-}" ] || for width in 1280 390; do
        for scheme in light dark; do
            browse "$width" "$scheme" "--screenshot=$KEEP/$1-$width-$scheme.png" "$2" 2>/dev/null
        done
    done
}

# Nothing but the page itself is asked for.
check_requests() { # name, page
    browse 1280 light "--log-net-log=$scratch/net.json" "$2" >/dev/null 2>&1
    [ -s "$scratch/net.json" ] &&
        ! grep -oE '"url":"https?://[^"]*"' "$scratch/net.json" | grep -vE 'https?://(localhost|127)'
    note "$1: requests" $?
}

[ -z "${KEEP:-}" ] || mkdir -p "$KEEP"
for name in smollm2-niah-1k smollm2-nan-256; do
    "$KVREPLAY" replay "$TRACES/$name.h5" --quiet -o "$scratch/$name" >/dev/null &&
        "$KVREPLAY" report "$scratch/$name" --draws 200 -o "$scratch/$name.html" >/dev/null
    note "$name: the report is written" $?
    check_page "$name" "$scratch/$name.html"
    check_requests "$name" "$scratch/$name.html"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
