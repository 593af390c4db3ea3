#!/bin/bash
# ./dev release [--untagged] IMAGE: all files of a release, in build/files (RELEASING.md). IMAGE names the step's image, without a tag:
#   registry.example/trainstep. On Debian 12, amd64, in a clean checkout of the tag vVERSION; --untagged: of any commit, to try it out.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

untagged=
[[ ${1:-} != --untagged ]] || { untagged=yes && shift; }
[[ $# -eq 1 && $1 != -* && ! ${1##*/} =~ [:@] ]] || die "usage: ./dev release [--untagged] IMAGE (without a tag)"
image=$1
version=$(sed -n 's/^project(trainstep VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
if [[ ! $untagged ]]; then
  [[ ! $(git status --porcelain) ]] || die "there are uncommitted changes; commit them, or release another checkout"
  [[ $(git tag --points-at HEAD) == *"v$version"* ]] || die "HEAD does not have the tag v$version; see RELEASING.md"
  grep -q "^## $version\b" CHANGELOG.md || die "CHANGELOG.md has no section $version"
fi
[[ $(dpkg --print-architecture) == amd64 ]] || die "releases are built on amd64"

tools/dev_image.sh --all "trainstep:$version"
declare -A builds=([amd64]=release [arm64]=release-arm64 [ppc64le]=release-ppc64el)
declare -A roots=([amd64]=amd64 [arm64]=arm64 [ppc64le]=ppc64el)
programs=()
for arch in amd64 arm64 ppc64le; do
  programs+=("build/${builds[$arch]}/trainstep")
done
tools/dev_wheel.sh "${programs[@]}"

files=build/files
rm -rf "$files"
mkdir -p "$files"
for arch in amd64 arm64 ppc64le; do
  install -m 755 "build/${builds[$arch]}/trainstep" "$files/trainstep-$version-linux-$arch"
  install -m 644 "build/image_all/root/${roots[$arch]}/usr/share/doc/trainstep/trainstep.spdx.json" "$files/trainstep-$version-linux-$arch.spdx.json"
done
install -m 644 build/wheel/*.whl build/image_all/trainstep.oci.tar "$files/"
mv "$files/trainstep.oci.tar" "$files/trainstep-$version.oci.tar"
$system_python tools/make_component.py --image "$image:$version" build/component
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" --transform "s,^\.,component-$version," -C build/component -c . |
  gzip -n >"$files/component-$version.tar.gz"
(cd "$files" && sha256sum -- * >SHA256SUMS)
ls -l "$files"
