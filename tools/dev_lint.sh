#!/bin/bash
# ./dev lint: clang-format and clang-tidy. A file is checked again if it, one of our headers that it includes, or the rules have changed since its last
# clean run.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}"
tools/dev_fmt.sh --check
configure lint
begin=$EPOCHREALTIME
$system_python tools/tidy.py
echo "lint … $(seconds_since "$begin") s"
