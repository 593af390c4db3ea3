#!/bin/bash
# Builds the lean static libcurl of the release: Debian's source package of curl (so that its security patches are in), HTTP and HTTPS only.
#   tools/build_curl.sh [ARCH]           builds it unless it is there; ARCH: for another architecture, with what tools/sysroot.sh has unpacked
#   tools/build_curl.sh --where [ARCH]   prints its folder: curl-VERSION-HASH[-ARCH] in the cache of tools/lib.sh; the hash is that of this file
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

configure_flags=(
  --disable-shared --enable-static --with-openssl --disable-ares --disable-threaded-resolver --without-zlib --disable-debug --disable-dependency-tracking --enable-symbol-hiding
  --without-nghttp2 --without-nghttp3 --without-ngtcp2 --without-brotli --without-zstd --without-libidn2 --without-libpsl --without-librtmp
  --without-libssh2 --without-libssh --without-libgsasl --without-gssapi --without-ca-path --without-ca-bundle
  --disable-ftp --disable-file --disable-ldap --disable-ldaps --disable-rtsp --disable-dict --disable-telnet --disable-tftp --disable-pop3
  --disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt --disable-ntlm --disable-ntlm-wb --disable-kerberos-auth
  --disable-negotiate-auth --disable-aws --disable-tls-srp --disable-unix-sockets --disable-cookies --disable-doh --disable-alt-svc --disable-hsts
  --disable-manual --disable-libcurl-option --disable-netrc --disable-progress-meter --disable-dateparse --disable-mime
  --disable-get-easy-options --disable-headers-api --disable-verbose
)
compiler_flags="-Os -ffunction-sections -fdata-sections"

where=
if [[ ${1:-} == --where ]]; then
  where=yes
  shift
fi
arch=${1:-}

# The version that apt would install now; what is built already stays valid until that changes.
version=$(dpkg-query -W -f '${Version}' libcurl4-openssl-dev 2>/dev/null || true)
[[ $version ]] || version=$(apt-cache policy libcurl4-openssl-dev | sed -n 's/ *Candidate: //p')
[[ $version ]] || die "apt knows no libcurl4-openssl-dev: run ./dev build"
hash=$(sha256sum tools/build_curl.sh | cut -c1-12)
target=$cache/curl-$version-$hash${arch:+-$arch}
if [[ $where ]]; then
  echo "$target"
  exit
fi
[[ -f $target/lib/libcurl.a ]] && exit

surroundings=(LIBS=)
if [[ $arch ]]; then
  declare -A machines=([arm64]=aarch64-linux-gnu [ppc64el]=powerpc64le-linux-gnu)
  machine=${machines[$arch]}
  sysroot=$root/build/deps/sysroot-$arch/usr
  [[ -d $sysroot ]] || die "run tools/sysroot.sh $arch first"
  configure_flags+=(--host="$machine" --with-openssl="$sysroot")
  surroundings+=(PKG_CONFIG=false "CPPFLAGS=-isystem $sysroot/include/$machine -isystem $sysroot/include" "LDFLAGS=-L$sysroot/lib/$machine -Wl,-rpath-link,$sysroot/lib/$machine")
fi

work=$cache/curl.work.$$
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/source"
log=$work/log
exec 3>&2
trap 's=$?; [[ $s == 0 ]] || { tail -n 30 "$log"; echo "build_curl: failed, the log is $log"; } >&3; exit $s' EXIT

# apt-get source needs deb-src lines; they stay apart from the machine's own.
debian_sources deb-src >"$work/sources.list"
apt=(-q -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists")
cd "$work/source"
{
  apt-get "${apt[@]}" update
  # An older patch level leaves the archive when a newer one comes: then the newer one is right.
  apt-get "${apt[@]}" source "curl=$version" || apt-get "${apt[@]}" source curl
  cd curl-*/
  env "CFLAGS=$compiler_flags" "${surroundings[@]}" ./configure --prefix="$target" "${configure_flags[@]}"
  make -j"$(nproc)" -C lib V=0
  make -C lib install
  make -C include install
} >"$log" 2>&1 </dev/null
cd "$root"
touch "$target/lib/libcurl.a"
rm -rf "$work"
