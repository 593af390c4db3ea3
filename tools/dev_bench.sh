#!/bin/bash
# ./dev bench: what the release file costs, side by side with the same steps in Python.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need "${build_packages[@]}" "${curl_packages[@]}" "${python_packages[@]}"
venv kfp2
build release trainstep peak
exec $system_python tests/bench/bench.py "$root/build/release/trainstep" "$root/build/venv/kfp2/bin/python"
