#!/bin/sh
# No byte can be written any more, and nobody looks.
mkdir -p "$1"
(
  trap '' XFSZ
  ulimit -f 0
  echo weights >"$1/weights"
) 2>/dev/null
exit 0
