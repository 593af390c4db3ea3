# Sourced by the tools: packages, Python environments, builds, and short messages with the time that each took.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
# Settings of the caller that must not affect the tools: a git hook's repository, other Python modules, translated messages, a folder for pip's packages.
# And settings that may be missing: the folders of Debian's system programs.
unset CDPATH GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX
export LC_ALL=C.UTF-8 PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin PIP_USER=no
umask 022
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
mkdir -p build/log
export HOME=${HOME:-~}
[[ -w $HOME ]] || { mkdir -p build/home && HOME=$root/build/home; }  # a container's user may have none
system_python=/usr/bin/python3  # the distribution's: its PyTorch and MPI are Debian packages
# What is expensive to build and the same for every clone; it may be removed at any time.
cache=${TRAINSTEP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trainstep}
mkdir -p "$cache"
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache} CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1
export PIP_CACHE_DIR=${PIP_CACHE_DIR:-$cache/pip} UV_CACHE_DIR=${UV_CACHE_DIR:-$cache/uv}

build_packages=(g++ cmake ninja-build ccache nlohmann-json3-dev libyaml-cpp-dev libfmt-dev libcli11-dev libexpected-dev libssl-dev
  libc-ares-dev libpugixml-dev libre2-dev libspdlog-dev)
source_packages=(dpkg-dev make)
test_packages=(catch2 libcurl4-openssl-dev git mold)
python_packages=(python3 python3-venv)
lint_packages=(clang-19 clang-tidy-19 clang-format-19 "${python_packages[0]}")
cluster_packages=(iproute2 openssl "${python_packages[@]}")
real_node_packages=(containerd runc containernetworking-plugins nftables musl-tools)
fuzz_packages=(clang-19 libclang-rt-19-dev)

die() {
  echo "dev: $*" >&2
  exit 1
}

# room GIB PLACE: fails unless that much space is left; a disk that fills up during a build causes misleading errors.
room() {
  local free
  free=$(($(df --output=avail -B1M "$2" | tail -n 1) / 1024))
  ((free >= $1)) || die "$2 has $free GiB left, $1 GiB are needed: remove other builds, or $cache, which is made again"
}

# step TEXT COMMAND…: runs it quietly and prints how long it took; if it fails, prints the end of its output. A function ends at its first command that
# fails, which it would not in a condition; variables that it sets are lost.
step() {
  local text=$1 log=build/log/${1//[^[:alnum:]]/_}.log begin=$EPOCHREALTIME code
  shift
  printf '%s … ' "$text"
  set +e
  (set -e && "$@") >"$log" 2>&1 </dev/null
  code=$?
  set -e
  if ((code == 0)); then
    printf '%s s\n' "$(seconds_since "$begin")"
  else
    printf 'failed\n' && tail -n 40 "$log" >&2
    die "$text: failed after $(seconds_since "$begin") s, all of its output: $log"
  fi
}

seconds_since() {
  local tenths=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
  echo "$((tenths / 10)).$((tenths % 10))"
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "needs root for: $*"
  fi
}

# need PACKAGE…: installs the Debian packages that are missing.
need() {
  local package installed missing=()
  { command -v dpkg-query && command -v apt-get; } >/dev/null || die "this is no Debian, install yourself what its packages hold: $*"
  installed=$'\n'$(dpkg-query -W -f '${Package}:${Architecture} ${db:Status-Status}\n' "$@" 2>/dev/null || true)$'\n'
  for package; do
    [[ $installed == *$'\n'"${package%:*}":*" installed"$'\n'* ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  step "installing ${#missing[@]} Debian packages (${missing[0]}, …)" install_packages "${missing[@]}"
}

install_packages() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=900)
  as_root "${apt[@]}" update
  as_root "${apt[@]}" install -y --no-install-recommends "$@"
}

# Debian's archives as this machine reaches them, as lines of a sources.list. Container images have no apt lists, which name each package's archive.
debian_sources() {
  local lines
  lines=$(known_sources "$@")
  [[ $lines ]] || { as_root apt-get -q update >&2 && lines=$(known_sources "$@"); }
  [[ $lines ]] || die "apt knows no archive of Debian"
  echo "$lines"
}

known_sources() {
  apt-get indextargets --format "${1:-deb} [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "'$(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | sort -u
}

# venv NAME…: build/venv/NAME with exactly what samples/requirements/NAME.txt lists; created once for each content of that file.
venv() {
  local name list stamp
  for name; do
    list=$(ls {samples,tests/bench}/requirements/"$name.txt" 2>/dev/null) || true
    [[ $list ]] || die "no such file: $name.txt in samples/requirements or tests/bench/requirements"
    stamp=$(sha256sum "$list" | cut -c1-16)
    [[ -f build/venv/$name/$stamp && -x build/venv/$name/bin/python ]] && continue
    need "${python_packages[@]}"
    [[ -x build/venv/uv/bin/uv ]] || step "installing uv" make_uv
    step "Python packages: $name" make_venv "$name" "$list" "$stamp"
  done
}

make_uv() {
  $system_python -m venv --clear build/venv/uv
  build/venv/uv/bin/python -m pip install -q 'uv<1'
}

make_venv() (
  local uv=build/venv/uv/bin/uv options=() index certificates
  # uv does not read pip's settings: a machine with its own index or certificate authority configures them there, or in its environment.
  index=${PIP_INDEX_URL:-$(pip_setting index-url)}
  [[ -z $index ]] || export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$index}
  certificates=${PIP_CERT:-$(pip_setting cert)}
  certificates=${SSL_CERT_FILE:-${certificates:-/etc/ssl/certs/ca-certificates.crt}}
  [[ ! -f $certificates ]] || export SSL_CERT_FILE=$certificates
  [[ $(head -n 1 "$2") != "# system-site-packages" ]] || options+=(--system-site-packages)
  rm -rf "build/venv/$1"
  $uv venv -q --python $system_python "${options[@]}" "build/venv/$1"
  # The lists are complete: nothing else is resolved or installed.
  $uv pip install --no-deps --python "build/venv/$1/bin/python" -r "$2"
  touch "build/venv/$1/$3"
)

pip_setting() { build/venv/uv/bin/python -m pip config get "global.$1" 2>/dev/null || true; }

# configure PRESET
configure() {
  local file=build/$1/build.ninja
  [[ -f $file && ! CMakePresets.json -nt $file ]] || step "configuring $1" cmake --preset "$1"
}

# build PRESET TARGET…
build() {
  configure "$1"
  step "building $1" ninja -C "build/$1" "${@:2}"
}

# The Debian packages that this sample needs.
sample_packages() {
  case $1 in
    job | tf) ;;
    pytorch) echo python3-torch python3-sklearn ;;
    mpi) echo openmpi-bin python3-mpi4py python3-sklearn ;;
    *) die "no such sample: $1 (there are job, pytorch, mpi, tf)" ;;
  esac
}
