#!/bin/sh
# Draws plots/gallery/ anew from a bundled trace. Run it from the top of the tree after `make`.
set -eu
trace=traces/smollm2-niah-1k.h5
policies=independent,mean,max,page-entrokv,h2o,observed,tova,snapkv,pyramidkv,ada-snapkv,random,streaming-llm,clairvoyant
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build/kvreplay replay $trace --policy $policies --match physical --curve log --quiet -o "$scratch/tables"
build/kvreplay ablate $trace --quiet -o "$scratch/tables"
build/kvreplay plot "$scratch/tables" -o "$scratch/figs" --quiet
build/kvreplay show $trace --sample 2 --layer 15 --head 4 -o "$scratch/figs" --quiet >/dev/null

# Paper is transparent; a page on the web may be dark.
mkdir -p plots/gallery
for figure in "$scratch"/figs/*.svg; do
    sed '0,/<rect [^>]*fill="none"\/>/s//<rect width="100%" height="100%" fill="white"\/>/' "$figure" \
        >"plots/gallery/$(basename "$figure")"
done
du -ch plots/gallery/*.svg | tail -n 1
