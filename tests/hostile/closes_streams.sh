#!/bin/sh
# Nobody hears from it any more, but it trains.
exec <&- >&- 2>&-
mkdir -p "$1" && echo weights >"$1/weights"
