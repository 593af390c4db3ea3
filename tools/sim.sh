#!/bin/bash
# Runs the simulators (tests/sim), built with optimisation: tools/sim.sh [--first SEED] [--seeds N] | --seed SEED | --kills | --cancels
#                                                           tools/sim.sh --data [--first SEED] [--seeds N] | --data --seed SEED
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need "${build_packages[@]}" "${test_packages[@]}"
program=sim
[[ ${1:-} != --data ]] || { program=sim_data && shift; }
build sim "$program"
exec "build/sim/tests/sim/$program" "$@"
