#!/bin/bash
# ./dev bench [local|cluster|burst|scaling|objectstore [OPTIONS]]: the cost of the release file compared with the alternatives, and how its samples scale
# with the number of workers; default: all of it. Scaling updates docs/pictures/scaling.svg.
# OPTIONS are those of tests/bench/objectstore_bench.py.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

what=${1:-}
case $what in
  "" | local | cluster | burst | scaling) [[ $# -le 1 ]] ;;
  objectstore) ;;
  *) false ;;
esac || die "usage: ./dev bench [local|cluster|burst|scaling|objectstore [OPTIONS]]"
need "${build_packages[@]}" "${source_packages[@]}" "${cluster_packages[@]}" git
build release trainstep peak
if [[ $what == "" || $what == local ]]; then
  venv kfp2
  $system_python tests/bench/bench.py "$root/build/release/trainstep" "$root/build/venv/kfp2/bin/python"
fi
if [[ $what == "" || $what == cluster ]]; then
  venv clients e2e  # it runs steps as the tests do, with pytest
  build/venv/e2e/bin/python tests/bench/cluster_bench.py "$root/build/release/trainstep" "$root/build/venv/clients/bin/python"
fi
if [[ $what == "" || $what == burst ]]; then
  venv e2e
  build/venv/e2e/bin/python tests/bench/burst_bench.py "$root/build/release/trainstep"
fi
if [[ $what == "" || $what == scaling ]]; then
  read -ra packages <<<"$(sample_packages pytorch)"
  need "${python_packages[@]}" "${packages[@]}"
  venv pytorch
  $system_python -B tests/bench/scaling_bench.py "$root/build/release/trainstep" "$root/build/venv/pytorch/bin/python" docs/pictures/scaling.svg
fi
if [[ $what == "" || $what == objectstore ]]; then
  venv objectstore
  $system_python tests/bench/objectstore_bench.py "$root/build/release/trainstep" "$root/build/venv/objectstore/bin/python" "${@:2}"
fi
