#!/bin/bash
# The simulator (tests/sim), built to be fast: tools/sim.sh [--first SEED] [--seeds N] | --seed SEED | --kills
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need "${build_packages[@]}" "${test_packages[@]}"
build sim sim
exec build/sim/tests/sim/sim "$@"
