#!/bin/sh
# Two files in a folder, as most do.
mkdir -p "$1" && echo weights >"$1/weights" && echo '{}' >"$1/config.json"
