#!/bin/sh
mkdir -p "$1" && echo half >"$1/shard-0"
exit 3
