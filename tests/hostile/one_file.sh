#!/bin/sh
# The model is a file.
echo weights >"$1"
