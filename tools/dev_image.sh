#!/bin/bash
# ./dev image [NAME]: the step's image as a file, build/image/trainstep.tar (in the format of `docker save`); NAME defaults to trainstep:VERSION. If there is
#   a Docker daemon, it builds and keeps the image; otherwise buildah builds it. The SBOM is next to it: trainstep.spdx.json (SPDX 2.3).
# ./dev image --all [NAME]: the same for amd64, arm64 and ppc64le as one OCI archive, build/image_all/trainstep.oci.tar, each with its SPDX document attached;
#   on amd64. The others are cross-built: minutes, the first time.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

all=
[[ ${1:-} != --all ]] || { all=yes && shift; }
[[ $# -le 1 && ${1:-} != -* ]] || die "usage: ./dev image [--all] [NAME]"
need "${build_packages[@]}" "${source_packages[@]}" "${python_packages[0]}" ca-certificates git
build release
version=$(build/release/trainstep --version | cut -d' ' -f2)
revision=$(git rev-parse HEAD)
[[ ! $(git status --porcelain) ]] || revision+=-dirty
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH  # the same program produces the same layer
name=${1:-trainstep:$version}
folder=build/image${all:+_all}
own=$(dpkg --print-architecture)
declare -A go_names=([amd64]=amd64 [arm64]=arm64 [ppc64el]=ppc64le)
[[ ! $all || $own == amd64 ]] || die "image --all cross-builds on amd64 only"

# root_of ARCH BUILD [SYSROOT]
root_of() {
  step "the root for $1" tools/image_root.sh "$2" "$1" "$folder/root/$1" "${@:3}"
  grep '^sbom: ' "build/log/the_root_for_$1.log" >&2 || true
}

arguments_for() {
  arguments=(--build-arg PROGRAM=made --build-arg "ROOT=$folder/root/$1" --build-arg "VERSION=$version" --build-arg "REVISION=$revision")
  # The address of the sources, if it is public.
  local source
  source=$(git config --get remote.origin.url || true)
  [[ $source != https://* || $source == *@* ]] || arguments+=(--label "org.opencontainers.image.source=$source")
}

with_docker() {
  docker build "${arguments[@]}" -t "$name" .
  docker save -o "$1" "$name"
}

# It stores everything below $folder, and runs nothing in containers.
buildah=(buildah --root "$root/$folder/storage" --runroot "$root/$folder/run" --storage-driver vfs)
tear_down() {
  "${buildah[@]}" rmi --all --force
  rm -rf "$folder"/storage "$folder"/run
}

with_buildah() {
  "${buildah[@]}" build --isolation chroot --format docker --timestamp "$SOURCE_DATE_EPOCH" "${arguments[@]}" -t "localhost/$name" .
  "${buildah[@]}" push "localhost/$name" "docker-archive:$1:$name"
  tear_down
}

with_buildah_for_all() {
  local arch
  for arch in "${!go_names[@]}"; do
    arguments_for "$arch"
    "${buildah[@]}" build --isolation chroot --format oci --platform "linux/${go_names[$arch]}" --timestamp "$SOURCE_DATE_EPOCH" "${arguments[@]}" \
      --manifest "localhost/$name" .
  done
  rm -rf "$folder/layout"
  "${buildah[@]}" manifest push --all "localhost/$name" "oci:$folder/layout:$name"
  tear_down
  $system_python tools/attach_sbom.py "$folder/layout" "$folder/root"
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$folder/layout" -cf "$1" .
  rm -rf "$folder/layout"
}

rm -rf "$folder"
root_of "$own" build/release
if [[ $all ]]; then
  need buildah g++-aarch64-linux-gnu g++-powerpc64le-linux-gnu
  file=$folder/trainstep.oci.tar
  for arch in arm64 ppc64el; do
    step "libraries for $arch" tools/sysroot.sh "$arch"
    build "release-$arch" trainstep
    root_of "$arch" "build/release-$arch" "build/deps/sysroot-$arch"
  done
  step "building $name for all" with_buildah_for_all "$file"
else
  file=$folder/trainstep.tar
  cp "$folder/root/$own/usr/share/doc/trainstep/trainstep.spdx.json" "$folder/"
  arguments_for "$own"
  if docker info >/dev/null 2>&1; then
    step "building $name" with_docker "$file"
  else
    need buildah
    step "building $name" with_buildah "$file"
  fi
fi
echo "$file: $name, $(du -h --apparent-size "$file" | cut -f1)"
