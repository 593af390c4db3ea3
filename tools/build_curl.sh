#!/bin/bash
# Builds the lean static libcurl of the release, HTTP and HTTPS only; see tools/from_source.sh.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/from_source.sh"

make_archive() {
  local options=(
    --disable-shared --enable-static --with-openssl --disable-ares --disable-threaded-resolver --without-zlib --disable-debug --disable-dependency-tracking --enable-symbol-hiding
    --without-nghttp2 --without-nghttp3 --without-ngtcp2 --without-brotli --without-zstd --without-libidn2 --without-libpsl --without-librtmp
    --without-libssh2 --without-libssh --without-libgsasl --without-gssapi --without-ca-path --without-ca-bundle
    --disable-ftp --disable-file --disable-ldap --disable-ldaps --disable-rtsp --disable-dict --disable-telnet --disable-tftp --disable-pop3
    --disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt --disable-ntlm --disable-ntlm-wb --disable-kerberos-auth
    --disable-negotiate-auth --disable-aws --disable-tls-srp --disable-unix-sockets --disable-cookies --disable-doh --disable-alt-svc --disable-hsts
    --disable-manual --disable-libcurl-option --disable-netrc --disable-progress-meter --disable-dateparse --disable-mime
    --disable-get-easy-options --disable-headers-api --disable-verbose
  )
  local surroundings=("CFLAGS=$flags" LIBS=)
  if [[ $sysroot ]]; then
    options+=(--host="$machine" --with-openssl="$sysroot/usr")
    local libraries=$sysroot/usr/lib/$machine headers=$sysroot/usr/include
    surroundings+=(PKG_CONFIG=false "CPPFLAGS=-isystem $headers/$machine -isystem $headers" "LDFLAGS=-L$libraries -Wl,-rpath-link,$libraries")
  fi
  env "${surroundings[@]}" ./configure --prefix="$target" "${options[@]}"
  make -j"$(nproc)" -C lib V=0
  make -C lib install
  make -C include install
}

from_source curl libcurl4-openssl-dev "$@"
