#!/bin/sh
# The model is a link to files that were just trained elsewhere.
mkdir -p elsewhere && echo weights >elsewhere/weights && ln -s "$PWD/elsewhere" "$1"
