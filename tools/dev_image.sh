#!/bin/bash
# ./dev image [NAME]: the step's image as a file, build/image/trainstep.tar (as `docker save` writes it); NAME is trainstep:VERSION if not given.
# With a Docker daemon the image is there, too. Without one, buildah builds it.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $# -le 1 ]] || die "usage: ./dev image [NAME]"
need "${build_packages[@]}" "${curl_packages[@]}" ca-certificates
build release
version=$(build/release/trainstep --version | cut -d' ' -f2)
name=${1:-trainstep:$version}
file=build/image/trainstep.tar
arguments=(--build-arg PROGRAM=made --build-arg "VERSION=$version")
rm -rf build/image
mkdir -p build/image
tools/image_root.sh build/release/trainstep build/image/root

with_docker() {
  docker build "${arguments[@]}" -t "$name" .
  docker save -o "$file" "$name"
}

# It keeps what it needs below build/image, and runs nothing in containers.
with_buildah() {
  local buildah=(buildah --root "$root/build/image/storage" --runroot "$root/build/image/run" --storage-driver vfs)
  "${buildah[@]}" build --isolation chroot --format docker "${arguments[@]}" -t "localhost/$name" .
  "${buildah[@]}" push "localhost/$name" "docker-archive:$file:$name"
  "${buildah[@]}" rmi --all --force
  rm -rf build/image/storage build/image/run
}

if docker info >/dev/null 2>&1; then
  step "building $name" with_docker
else
  need buildah
  step "building $name" with_buildah
fi
echo "$file: $name, $(du -h --apparent-size "$file" | cut -f1)"
