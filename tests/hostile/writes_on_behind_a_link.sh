#!/bin/sh
# Exits with 0 while a child keeps writing a file outside the model, to which a link in the model leads.
mkdir -p "$1" "$TMPDIR/blobs" && echo x >"$1/x" && echo part >"$TMPDIR/blobs/a" && ln -s "$TMPDIR/blobs" "$1/blobs"
(setsid sh -c 'trap "" TERM HUP; while sleep 0.005; do echo part >>"$TMPDIR/blobs/a"; done' </dev/null >/dev/null 2>&1 &)
