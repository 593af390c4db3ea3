#!/bin/bash
# ./dev soak [MINUTES]: runs each fuzz target that long (default: 10), 100,000 simulated worlds, as many steps with two other clusters and the data of as
# many jobs from a random seed on, then the unit tests repeatedly in random order, half as long, 2,000 random schedules of faults on a real control plane (FAULT_RUNS: their number,
# FAULT_FIRST: the first seed), 1,000 runs with data whose pods and store fail (DATA_RUNS: their number), 500 steps with two other clusters (BURST_RUNS),
# and the end-to-end tests twice.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minutes=${1:-10}
[[ $minutes =~ ^[1-9][0-9]{0,3}$ ]] || die "usage: ./dev soak [MINUTES]"
tools/prepare_tests.sh
need "${fuzz_packages[@]}"

build fuzz
for target in build/fuzz/tests/fuzz_*; do
  name=${target##*fuzz_}
  seeds=tests/fuzz/corpus/$name
  grown=build/fuzz/corpus/$name
  mkdir -p "$grown"
  [[ -d $seeds ]] || seeds=
  step "fuzzing $name" "$target" -max_total_time=$((minutes * 60)) -timeout=10 -rss_limit_mb=4096 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found_${name}_" "$grown" $seeds
done

build release trainstep sim sim_data
first=$((RANDOM * 32768 + RANDOM))
step "100,000 worlds from seed $first" build/release/tests/sim/sim --first "$first" --seeds 100000
step "100,000 steps with two other clusters from seed $first" build/release/tests/sim/sim --burst --first "$first" --seeds 100000
step "the data of 100,000 jobs from seed $first" build/release/tests/sim/sim_data --first "$first" --seeds 100000

build dev
unit_tests_for() {
  local until=$((SECONDS + $1)) test seed
  while ((SECONDS < until)); do
    for test in build/dev/tests/unit_*; do
      seed=$RANDOM
      echo "$test, seed $seed"
      "$test" --order rand --rng-seed $seed || return
    done
  done
}
step "unit tests in random order" unit_tests_for $((minutes * 30))
tools/venv.sh e2e
first=${FAULT_FIRST:-$RANDOM}
step "${FAULT_RUNS:-2000} schedules of faults from seed $first" build/venv/e2e/bin/python tests/cluster/fault_runs.py \
  --first "$first" --runs "${FAULT_RUNS:-2000}"
step "${DATA_RUNS:-1000} runs whose pods and store are lost, from seed $first" build/venv/e2e/bin/python tests/cluster/data_fault_runs.py \
  --first "$first" --runs "${DATA_RUNS:-1000}"
step "${BURST_RUNS:-500} steps with two other clusters whose networks are cut, from seed $first" build/venv/e2e/bin/python tests/cluster/burst_runs.py \
  --first "$first" --runs "${BURST_RUNS:-500}"
step "end-to-end tests, twice" ctest --preset dev -L e2e --repeat until-fail:2
