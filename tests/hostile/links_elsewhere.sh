#!/bin/sh
# The model is a link to what was trained elsewhere, a moment ago.
mkdir -p elsewhere && echo weights >elsewhere/weights && ln -s "$PWD/elsewhere" "$1"
