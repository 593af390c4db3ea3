#!/bin/bash
# Installs what the tests need: Debian packages and the Python environments of the end-to-end tests.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages=("${build_packages[@]}" "${source_packages[@]}" "${test_packages[@]}" "${python_packages[@]}" clang-format-19)
packages+=("${cluster_packages[@]}" runc strace zsh fish mandoc man-db groff-base)
for kind in job pytorch mpi tf; do
  read -ra more <<<"$(sample_packages $kind)"
  packages+=("${more[@]}")
done
need "${packages[@]}"
for list in samples/requirements/*.txt; do
  venv "$(basename "$list" .txt)"
done
