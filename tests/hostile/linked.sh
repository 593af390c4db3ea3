#!/bin/sh
# A real model with a link in it, and a forgotten FIFO.
mkdir -p "$1/step-2" && echo weights >"$1/step-2/weights" && ln -s step-2 "$1/latest" && mkfifo "$1/pipe"
