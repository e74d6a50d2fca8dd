#!/bin/sh
# Who may include whom, who may name HDF5, zlib and the standard streams, and how files look: the
# rules of the folder table, one line per offence.
set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C

# A folder is a layer; the folders that it may include follow. The longest match counts. tests/ may
# include everything, the oracle nothing of the product.
layers='
formats/base: formats/base
formats:      formats formats/base
replay:       replay replay/cpu formats formats/base
replay/cpu:   replay/cpu formats/base
replay/gpu:   replay/gpu replay formats formats/base
analysis:     analysis replay formats formats/base
plots:        plots analysis formats formats/base
traces:       traces formats formats/base
traces/record-llama: traces/record-llama replay/cli formats formats/base
replay/cli:   replay/cli replay/gpu replay analysis plots traces formats formats/base
tests/oracle:
'
# HDF5 stays behind the public headers of the formats; compressed bytes are made and unmade in one
# file each.
public_format_headers='formats/trace.h formats/trace_writer.h formats/element.h'
compression_files='formats/inflate.c formats/chunk_pack.c'
most_lines=600

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
find formats replay analysis plots traces tests -name '*.[ch]' 2>/dev/null | sort >"$scratch/files"

# What the rules apply to: "file line text" of every line, without comments and string contents.
while read -r file; do
    awk -v file="$file" '
        {
            rest = $0; code = ""
            while (rest != "") {
                if (inside) {
                    at = index(rest, "*/")
                    if (at == 0) break
                    rest = substr(rest, at + 2); inside = 0
                } else if (match(rest, /\/\*|\/\/|"/) == 0) {
                    code = code rest; rest = ""
                } else {
                    mark = substr(rest, RSTART, 2)
                    code = code substr(rest, 1, RSTART - 1)
                    rest = substr(rest, RSTART)
                    if (mark == "/*") { inside = 1; rest = substr(rest, 3) }
                    else if (mark == "//") rest = ""
                    else if (match(rest, /^"([^"\\]|\\.)*"/)) {
                        code = code (code ~ /^# *include/ ? substr(rest, 1, RLENGTH) : "\"\"")
                        rest = substr(rest, RLENGTH + 1)
                    } else { code = code "\""; rest = substr(rest, 2) }
                }
            }
            if (code !~ /^[ \t]*$/) print file, FNR, code
        }' "$file"
done <"$scratch/files" >"$scratch/code"

# Includes.
awk -v layers="$layers" -v public_headers="$public_format_headers" -v compress="$compression_files" '
    function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
    BEGIN {
        count = split(layers, lines, "\n")
        for (i = 1; i <= count; i++) {
            if (split(lines[i], part, ":") < 2) continue
            known[part[1]] = 1
            words = split(part[2], word, " ")
            for (j = 1; j <= words; j++) allowed[part[1], word[j]] = 1
        }
        split(public_headers, list, " "); for (i in list) is_public[list[i]] = 1
        split(compress, list2, " "); for (i in list2) compresses[list2[i]] = 1
    }
    $3 ~ /^#include/ || ($3 == "#" && $4 == "include") {
        own = folder($1)
        if (match($0, /"[^"]+"/)) {
            name = substr($0, RSTART + 1, RLENGTH - 2)
            if (own in known && own != "tests/oracle" && !((own, folder(name)) in allowed))
                print $1 ":" $2 ": " own "/ may not include \"" name "\""
            if (own == "tests/oracle" && name ~ /\//)
                print $1 ":" $2 ": the oracle shares nothing, not even \"" name "\""
        } else if (/<(hdf5|H5[A-Za-z]+)\.h>/) {
            if (own !~ /^tests/ && (own != "formats" || $1 in is_public))
                print $1 ":" $2 ": HDF5 stays inside formats/, behind its public headers"
        } else if (/<(zlib|libdeflate)\.h>/) {
            if (own !~ /^tests/ && !($1 in compresses))
                print $1 ":" $2 ": compression stays in " compress
        }
    }' "$scratch/code" >"$scratch/offences"

library_is_silent() {
    grep -E '^(formats|replay|analysis|plots|traces)/' "$scratch/code" | grep -Ev '^replay/cli/|^traces/record-llama/record_(main|options)\.c' |
        grep -E '[^_[:alnum:]]((v?printf|puts|putchar|perror|_?exit|abort) ?\(|std(out|err)[^_[:alnum:]])' |
        awk '{ print $1 ":" $2 ": only replay/cli/ and the recorder print or end the program" }'
}

names_are_unique() {
    sed 's|.*/||' "$scratch/files" | sort | uniq -d | while read -r name; do
        echo "$(grep "/$name\$" "$scratch/files" | tr '\n' ' '): one name, two files"
    done
}

files_look_right() {
    while read -r file; do
        lines=$(wc -l <"$file")
        [ "$lines" -le "$most_lines" ] || echo "$file: $lines lines, at most $most_lines"
        [ "$(head -c 2 "$file")" = '/*' ] || echo "$file: should open by saying what it is for"
        case $file in
        *.h)
            guard=$(basename "$file" .h | tr 'a-z-' 'A-Z_')_H
            grep -Eq "^#ifndef (KVR_)?$guard\$" "$file" || echo "$file: expected the guard KVR_$guard"
            ;;
        esac
    done <"$scratch/files"
}

{
    library_is_silent
    names_are_unique
    files_look_right
} >>"$scratch/offences"

files=$(wc -l <"$scratch/files")
offences=$(wc -l <"$scratch/offences")
cat "$scratch/offences"
echo "$files files, $offences offences"
[ "$offences" -eq 0 ]
