#!/bin/bash
# tools/image_root.sh BUILD ARCH FOLDER [SYSROOT]: creates the root of the step's image in FOLDER, which must not exist, from the program in BUILD, the
# folder of a release preset. ARCH is Debian's name of its architecture, SYSROOT the folder with the libraries of another architecture.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

build=$1 arch=$2 folder=$3 sysroot=("${@:4}")
certificates=/usr/share/ca-certificates/mozilla  # Debian's package, without certificates that only this machine trusts
[[ -d $certificates ]] || { echo "image: $certificates is not there; install the package ca-certificates" >&2 && exit 1; }
umask 022
mkdir -p "$folder"
install -D -m 755 "$build/trainstep" "$folder/usr/local/bin/trainstep"
install -d -m 755 "$folder"/etc/ssl/certs "$folder"/usr/share/doc/trainstep
cat "$certificates"/*.crt >"$folder/etc/ssl/certs/ca-certificates.crt"
"$(dirname "${BASH_SOURCE[0]}")/sbom.py" "$build" "$arch" "${sysroot[@]}" >"$folder/usr/share/doc/trainstep/trainstep.spdx.json"
install -m 644 "$(dirname "${BASH_SOURCE[0]}")/../LICENSE" "$folder/usr/share/doc/trainstep/LICENSE"
"$(dirname "${BASH_SOURCE[0]}")/licences.py" "$folder/usr/share/doc/trainstep/trainstep.spdx.json" "$arch" "$folder" "${sysroot[@]}"
install -d -m 1777 "$folder/tmp"
printf 'trainstep:x:65532:65532::/tmp:/sbin/nologin\n' >"$folder/etc/passwd"
