#!/bin/sh
# Two files in a folder, as usual.
mkdir -p "$1" && echo weights >"$1/weights" && echo '{}' >"$1/config.json"
