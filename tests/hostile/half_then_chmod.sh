#!/bin/sh
# Is killed with half a model; after a restart it only changes the metadata of that.
if mkdir "$1"; then
  echo half >"$1/shard-0"
  kill -9 $$
fi
chmod -R go+r "$1"
mv "$1/shard-0" "$1/part"
mv "$1/part" "$1/shard-0"
