#!/bin/bash
# ./dev build: the static release, build/release/trainstep.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need "${build_packages[@]}" "${source_packages[@]}"
build release
echo "build/release/trainstep: $(du -h --apparent-size build/release/trainstep | cut -f1)"
