#!/bin/bash
# Builds the lean static RE2 of the release: tools/from_source.sh says how.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/from_source.sh"

make_archive() {
  # Debian's source has no tables: they are generated from a further package. Its archive has them.
  mkdir -p obj/re2
  ar x --output obj/re2 "$sysroot/usr/lib/$machine/libre2.a" {perl_groups,unicode_casefold,unicode_groups}.o
  make -j"$(nproc)" static-install prefix="$target" CXX="$machine-g++" AR="$machine-ar" CXXFLAGS="$flags"
}

from_source re2 libre2-dev "$@"
