#!/bin/bash
# ./dev demo [job|pytorch|mpi|tf]: trains that sample as local processes, with a program that is built quickly and not optimized.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

kind=${1:-pytorch}
case $kind in
  job) distribution='{"distribution_type": "Job"}' ;;
  pytorch) distribution='{"distribution_type": "PyTorch", "number_of_workers": 2}' ;;
  mpi) distribution='{"distribution_type": "MPI", "number_of_workers": 2}' ;;
  tf) distribution='{"distribution_type": "TF", "number_of_workers": 2, "number_of_parameter_servers": 1}' ;;
  *) die "no such sample: $kind (there are job, pytorch, mpi, tf)" ;;
esac
read -ra packages <<<"$(sample_packages "$kind")"
need "${build_packages[@]}" libcurl4-openssl-dev "${python_packages[@]}" "${packages[@]}"
venv "$kind"
build quick trainstep

out=$root/build/demo/$kind
rm -rf "$out"
mkdir -p "$out"
exec build/quick/trainstep run --cluster local --run-dir "$out/run" --python "$root/build/venv/$kind/bin/python" \
  --train-specification "@samples/$kind/train_specification.v1.yaml" \
  --train-parameters '{"model_dir": "model_dir", "epochs": 4}' --distribution-specification "$distribution" \
  --model-dir "$out/model" --metrics "$out/metrics.json" --report "$out/report.html" </dev/null
