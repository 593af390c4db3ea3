#!/bin/bash
# Runs the simulators (tests/sim) of the release build: tools/sim.sh [--first SEED] [--seeds N] | --seed SEED | --kills | --cancels
#                                                       tools/sim.sh --burst [--first SEED] [--seeds N] | --burst --seed SEED
#                                                       tools/sim.sh --data [--first SEED] [--seeds N] | --data --seed SEED
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need "${build_packages[@]}" "${source_packages[@]}" "${test_packages[@]}"
program=sim
[[ ${1:-} != --data ]] || { program=sim_data && shift; }
build release "$program"
exec "build/release/tests/sim/$program" "$@"
