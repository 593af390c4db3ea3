#!/bin/bash
# tools/sysroot.sh ARCH: unpacks the libraries of another architecture into build/deps/sysroot-ARCH, unless they are there for the versions that this machine
# has; nothing of them is installed. build/deps/sysroot-ARCH/packages lists them: package, version, source, source's version.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

arch=$1
target=build/deps/sysroot-$arch
packages=(libyaml-cpp-dev libssl-dev libc-ares-dev libpugixml-dev libre2-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev libexpected-dev libc6-dev catch2)
need mmdebstrap "${packages[@]}"
stamp=$target/$({ cat tools/sysroot.sh && dpkg-query -W "${packages[@]}"; } | sha256sum | cut -c1-12).stamp
[[ ! -f $stamp ]] || exit 0
mkdir -p build/deps

# shellcheck disable=SC2016
list='cd "$1" && for file in var/cache/apt/archives/*.deb; do
  dpkg-deb --show --showformat "\${Package}\t\${Version}\t\${source:Package}\t\${source:Version}\n" "$file"; done >packages'
unpack() {
  rm -rf "$target"
  mmdebstrap --variant=extract --architectures="$arch" --include="$(IFS=, && echo "${packages[*]}")" --extract-hook="$list" bookworm "$target" -
}
# The index of the security updates for other architectures has been found out of step with its signature on mirrors. The tests can do without;
# tools/sbom.py says which packages of an image are older than this machine's.
debian_sources | unpack || debian_sources | grep -v -e -security | unpack
touch "$stamp"
