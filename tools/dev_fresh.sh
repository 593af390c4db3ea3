#!/bin/bash
# ./dev fresh [COMMAND…]: runs ./dev COMMAND (default: demo) in a new Debian 12 that has only git, on a clone of the committed state, and prints how long
# it took. Access to packages (apt's sources and settings, proxies, certificates, pip's settings) is configured as on this machine.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $(id -u) == 0 ]] || die "fresh creates a chroot; run it as root"
((${#@})) || set -- demo
need mmdebstrap git
base=$root/build/fresh
new=$base/debian.$$
mkdir -p "$base"

clean_up() {
  local place
  for place in proc sys dev/shm dev; do
    ! mountpoint -q "$new/$place" || umount -l "$new/$place"
  done
  ! mountpoint -q "$new/dev" || die "$new/dev is still mounted: unmount it, then remove $new"
  rm -rf --one-file-system "$new"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

make_debian() {
  debian_sources | mmdebstrap --variant=minbase --include=git,ca-certificates bookworm "$new" -
  local file
  for file in /etc/pip.conf /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
    [[ ! -f $file ]] || install -m 644 -D "$file" "$new$file"
  done
  grep -hE '^ *Acquire::' /etc/apt/apt.conf.d/* 2>/dev/null | grep -iE 'proxy|check-|cainfo|retries' >"$new/etc/apt/apt.conf.d/90machine" || true
  [[ ! -d /usr/local/share/ca-certificates ]] || cp -R /usr/local/share/ca-certificates/. "$new/usr/local/share/ca-certificates/"
  mount -t proc proc "$new/proc"
  mount --rbind --make-rslave /dev "$new/dev"
  git clone -q "file://$root" "$new/root/trainstep"
}
step "a new Debian 12" make_debian

environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
while read -r variable; do
  environment+=("$variable")
done < <(env | grep -iE '^(https?_proxy|no_proxy|all_proxy|[A-Z_]*CA_BUNDLE|SSL_CERT_FILE|SSL_CERT_DIR|GIT_SSL_CAINFO|(PIP|UV)_[A-Z_]*|CI)=' |
  grep -vE '^(PIP|UV)_(CACHE_DIR|FIND_LINKS)=')
run() { chroot "$new" env -i "${environment[@]}" bash -c 'cd /root/trainstep && exec ./dev "$@"' dev "$@" </dev/null; }

for time in fresh warm; do
  begin=$EPOCHREALTIME
  run "$@" || die "./dev $* failed on a $time machine"
  times+="$time: $(seconds_since "$begin") s  "
done
echo "./dev $*  $times"
