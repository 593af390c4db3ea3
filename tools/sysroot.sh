#!/bin/bash
# tools/sysroot.sh ARCH: unpacks the libraries of another architecture into build/deps/sysroot-ARCH, unless they are there; nothing of them is installed.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

arch=$1
target=build/deps/sysroot-$arch
packages=(libyaml-cpp-dev libssl-dev libc-ares-dev libpugixml-dev libfmt-dev nlohmann-json3-dev libcli11-dev libexpected-dev catch2)
stamp=$target/$(echo "${packages[@]}" | sha256sum | cut -c1-12).stamp
[[ ! -f $stamp ]] || exit 0
need mmdebstrap
rm -rf "$target"
mkdir -p build/deps
# The tests can do without security updates, whose index for other architectures was found out of step with its signature.
debian_sources | grep -v -e -security | mmdebstrap --variant=extract --architectures="$arch" --include="$(IFS=, && echo "${packages[*]}")" bookworm "$target" -
touch "$stamp"
