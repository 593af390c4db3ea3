#!/bin/sh
# Is killed once it has copied its model with the times of the original; after a restart it does the same, and ends.
mkdir -p "$1"
kept=$(dirname "$1")/checkpoint
[ -e "$kept" ] || { echo weights >"$kept"; touch -d @1000000 "$kept"; }
cp -p "$kept" "$1/weights"
[ -e "$kept.copied" ] || { touch "$kept.copied"; kill -9 $$; }
