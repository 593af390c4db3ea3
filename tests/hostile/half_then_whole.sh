#!/bin/sh
# Is killed with half a model; after a restart it continues from it.
if mkdir "$1"; then
  echo half >"$1/shard-0"
  kill -9 $$
fi
echo other half >"$1/shard-1"
