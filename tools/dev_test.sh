#!/bin/bash
# ./dev test [--all]: everything that must pass. Its output ends with the last lines of ctest.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

all=${1:-}
[[ $# -le 1 && ($all == "" || $all == --all) ]] || die "usage: ./dev test [--all]"
[[ -d build/dev ]] || room 12 .
tools/prepare_tests.sh
build dev
build release trainstep sim sim_data
if [[ $all ]]; then
  tools/test_more.sh
fi
choice=(--label-exclude long)
[[ ! $all ]] || choice=()
# Two more than the number of cores: the end-to-end tests mostly wait.
exec ctest --preset dev -j $(($(nproc) + 2)) "${choice[@]}" --no-tests=error --no-label-summary </dev/null
