#!/bin/sh
# No byte can be written any more, and the program does not check.
mkdir -p "$1"
(
  trap '' XFSZ
  ulimit -f 0
  echo weights >"$1/weights"
) 2>/dev/null
exit 0
