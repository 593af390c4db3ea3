#!/bin/bash
# The release is one static, stripped file of at most 9 MB that runs in an empty root, and the minimal libcurl links into such a file.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
unset CDPATH
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
file=$root/build/release/trainstep
limit=9000000

fail() {
  echo "release: $*" >&2
  exit 1
}
size=$(stat -c %s "$file")
((size <= limit)) || fail "$file has $size bytes, more than $limit"
headers=$(readelf --wide --program-headers --dynamic "$file")
[[ $headers != *INTERP* && $headers != *NEEDED* ]] || fail "$file is not static"
[[ $(readelf --wide --sections "$file") != *.debug_info* ]] || fail "$file is not stripped"
"$file" --version >/dev/null || fail "$file does not start"
echo "trainstep: $size bytes, static"

ninja -C "$root/build/release" curl_links >/dev/null
"$root/build/release/curl_links"
