# What is the same on every machine: there is always the CPU, and it can be named.
"$KVREPLAY" devices | head -n 1
"$KVREPLAY" devices --json | head -n 2
"$KVREPLAY" replay "$TRACES/smollm2-nan-256.h5" -o out --device cpu --layers 0 --quiet &&
    grep '"device"' out/run.json
"$KVREPLAY" devices here
