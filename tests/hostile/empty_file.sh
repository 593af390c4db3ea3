#!/bin/sh
# What a full disk leaves: files without content.
mkdir -p "$1" && : >"$1/weights" && : >"$1/config.json"
