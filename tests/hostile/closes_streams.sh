#!/bin/sh
# Closes its output streams, but trains.
exec <&- >&- 2>&-
mkdir -p "$1" && echo weights >"$1/weights"
