#!/bin/sh
# Is killed with half a model; after a restart it saves nothing.
if mkdir "$1"; then
  echo half >"$1/shard-0"
  kill -9 $$
fi
exit 0
