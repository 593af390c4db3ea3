#!/bin/bash
# ./dev wheel [PROGRAM…]: the Python package with the program in it, build/wheel/trainstep-VERSION-….whl. PROGRAM is a release file for this or another
# architecture; default: build/release/trainstep, which is built first.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need git "${python_packages[@]}"
if [[ $# -eq 0 ]]; then
  need "${build_packages[@]}" "${source_packages[@]}"
  build release trainstep
  set -- build/release/trainstep
fi
venv sdk
rm -rf build/wheel
# The same commit and program always produce the same wheel.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
wheel_of() (
  cd sdk && TRAINSTEP=$1 ../build/venv/sdk/bin/hatchling build --target wheel --directory "$root/build/wheel"
)
for program; do
  [[ -f $program ]] || die "no such file: $program"
  step "wheel of $program" wheel_of "$(realpath "$program")"
done
ls build/wheel/*.whl
