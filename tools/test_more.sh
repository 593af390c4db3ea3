#!/bin/bash
# What ./dev test --all adds: planted bugs, TSan, fuzzing, other architectures, clang-tidy.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need "${build_packages[@]}" "${source_packages[@]}" "${test_packages[@]}" "${fuzz_packages[@]}" "${lint_packages[@]}" mmdebstrap qemu-user g++-aarch64-linux-gnu g++-powerpc64le-linux-gnu
# run_tests PRESET: runs them under this machine's `setarch -R`, as TSan does not support the randomised addresses of recent kernels.
run_tests() { setarch -R ctest --preset "$1" -j "$(nproc)" --no-tests=error; }

step "finding planted bugs" tests/mutants/run
build tsan
step "testing tsan" run_tests tsan
build fuzz
step "fuzzing" run_tests fuzz
for arch in arm64 ppc64el; do
  step "libraries for $arch" tools/sysroot.sh $arch
  build $arch
  step "testing $arch" run_tests $arch
done
tools/dev_lint.sh
