#!/bin/bash
# tools/image_root.sh PROGRAM FOLDER: makes the root of the step's image in FOLDER, which must not exist.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

program=$1 folder=$2
certificates=/usr/share/ca-certificates/mozilla  # Debian's package, without what this machine alone trusts
[[ -d $certificates ]] || { echo "image: $certificates is not there; install the package ca-certificates" >&2 && exit 1; }
umask 022
mkdir "$folder"
install -D -m 755 "$program" "$folder/usr/local/bin/trainstep"
install -d -m 755 "$folder"/etc/ssl/certs
cat "$certificates"/*.crt >"$folder/etc/ssl/certs/ca-certificates.crt"
install -d -m 1777 "$folder/tmp"
printf 'trainstep:x:65532:65532::/tmp:/sbin/nologin\n' >"$folder/etc/passwd"
