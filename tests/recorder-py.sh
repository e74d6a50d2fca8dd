#!/bin/sh
# The Python part of traces/: what needs no more than numpy and h5py, and what needs torch and
# transformers. Either is skipped where no interpreter has them; PYTHON names one to try first.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
: "${KVREPLAY:=$here/../build/release/kvreplay}"
export KVREPLAY PYTHONDONTWRITEBYTECODE=1

run() { # modules, test
    for python in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
        if "$python" -c "import $1" >/dev/null 2>&1; then
            echo "$2, by $python"
            "$python" "$here/$2" || failed="$failed $2"
            return
        fi
    done
    echo "skipped: $2 needs python3 with $1"
}

failed=''
run 'numpy, h5py' trace_writer.py
run 'numpy, h5py' import_numpy.py
run 'numpy, h5py, torch, transformers' recorder_models.py
run 'numpy, h5py, torch, transformers' recorder_command.py
run 'numpy, h5py, torch, transformers' live_models.py
run 'csv, json' study_page.py
[ -z "$failed" ] || { echo "FAILED:$failed"; exit 1; }
