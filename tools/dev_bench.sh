#!/bin/bash
# ./dev bench [local|cluster]: what the release file costs, side by side with what people use instead; default: both.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

what=${1:-}
[[ $# -le 1 && ($what == "" || $what == local || $what == cluster) ]] || die "usage: ./dev bench [local|cluster]"
need "${build_packages[@]}" "${curl_packages[@]}" "${python_packages[@]}"
venv kfp2 clients
build release trainstep peak
if [[ $what != cluster ]]; then
  $system_python tests/bench/bench.py "$root/build/release/trainstep" "$root/build/venv/kfp2/bin/python"
fi
if [[ $what != local ]]; then
  $system_python tests/bench/cluster_bench.py "$root/build/release/trainstep" "$root/build/venv/clients/bin/python"
fi
