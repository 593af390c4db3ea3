# Sourced by the tools that build a library of the release from Debian's source package (so that its security patches are in), for size:
#   tools/build_NAME.sh [ARCH]           builds it unless it exists; ARCH: cross-builds with the sysroot that tools/sysroot.sh unpacked
#   tools/build_NAME.sh --where [ARCH]   prints its folder: NAME-VERSION-HASH[-ARCH] in the cache of tools/lib.sh; the hash covers both scripts
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# from_source NAME PACKAGE [--where] [ARCH]: builds the source package NAME, which also builds PACKAGE. make_archive of the sourcing script puts lib/libNAME.a and include/
# into $target, with the licence as `copyright`. It runs in the unpacked source, with the compiler flags in $flags; $sysroot has the usr/ of $machine (a GNU triplet), and is empty in a native build.
from_source() {
  name=$1 package=$2 where=
  shift 2
  if [[ ${1:-} == --where ]]; then
    where=yes
    shift
  fi
  arch=${1:-}
  flags="-Os -ffunction-sections -fdata-sections"
  # The version that apt would install now; an existing build stays valid until that changes. "+b1" is a rebuild of the same source.
  version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || true)
  [[ $version ]] || version=$(apt-cache policy "$package" | sed -n 's/ *Candidate: //p')
  [[ $version ]] || die "apt does not know $package; run ./dev build"
  version=${version%+b[0-9]*}
  hash=$(cat tools/from_source.sh "tools/build_$name.sh" | sha256sum | cut -c1-12)
  target=$cache/$name-$version-$hash${arch:+-$arch}
  if [[ $where ]]; then
    echo "$target"
  elif [[ ! -f $target/lib/lib$name.a ]]; then
    build_source
  fi
}

build_source() {
  sysroot= machine=$(gcc -print-multiarch)
  if [[ $arch ]]; then
    declare -A machines=([arm64]=aarch64-linux-gnu [ppc64el]=powerpc64le-linux-gnu)
    machine=${machines[$arch]}
    sysroot=$root/build/deps/sysroot-$arch
    [[ -d $sysroot ]] || die "run tools/sysroot.sh $arch first"
  fi
  work=$cache/$name.work.$$
  rm -rf "$work"
  mkdir -p "$work/lists/partial" "$work/source"
  log=$work/log
  exec 3>&2
  trap 's=$?; [[ $s == 0 ]] || { tail -n 30 "$log"; echo "build_$name: failed; see $log"; } >&3; exit $s' EXIT

  # apt-get source needs deb-src lines; these are separate from the machine's own.
  debian_sources deb-src >"$work/sources.list"
  apt=(-q -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists")
  cd "$work/source"
  {
    apt-get "${apt[@]}" update
    # The archive drops a patch level when a newer one is released: then build the newer one.
    apt-get "${apt[@]}" source "$name=$version" || apt-get "${apt[@]}" source "$name"
    cd "$name"-*/
    make_archive
    install -m 644 debian/copyright "$target/copyright"
  } >"$log" 2>&1 </dev/null
  cd "$root"
  touch "$target/lib/lib$name.a"
  rm -rf "$work"
}
