#!/bin/bash
# ./dev fmt: formats the C++ sources; --check only lists unformatted files.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need clang-format-19
sources() { find src tests -name '*.h' -print0 -o -name '*.cpp' -print0; }
if [[ ${1:-} == --check ]]; then
  unformatted=$(sources | xargs -0 -n 1 -P "$(nproc)" sh -c 'clang-format-19 --dry-run --Werror "$0" 2>/dev/null || echo "$0"' | sort)
  [[ -z $unformatted ]] || die "not formatted (./dev fmt does it): "$'\n'"$unformatted"
else
  sources | xargs -0 clang-format-19 -i
fi
