#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/venv.sh NAME...: makes build/venv/NAME with exactly what samples/requirements/NAME.txt lists.
# A file whose first line is "# system-site-packages" builds on the system's own packages.
# Does nothing when the environment is current; PYTHON chooses the interpreter (default /usr/bin/python3).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-/usr/bin/python3}

find_uv() {
    if command -v uv; then return; fi
    uv=$root/build/venv/uv/bin/uv
    if ! [ -x "$uv" ]; then
        "$python" -m venv "$root/build/venv/uv" >&2
        "$root/build/venv/uv/bin/pip" --quiet --disable-pip-version-check install uv==0.13.8 >&2
    fi
    echo "$uv"
}

make_venv() {
    requirements=$root/samples/requirements/$1.txt
    venv=$root/build/venv/$1
    if ! [ -f "$requirements" ]; then
        echo "tools/venv.sh: $1: there is no samples/requirements/$1.txt" >&2
        exit 2
    fi
    if cmp -s "$requirements" "$venv/requirements.txt" && [ -x "$venv/bin/python" ]; then return; fi
    uv=$(find_uv)
    site=
    if head -n 1 "$requirements" | grep -q '^# system-site-packages'; then site=--system-site-packages; fi
    rm -rf "$venv"
    "$uv" venv --quiet --python "$python" $site "$venv"
    # The files list everything that is needed, so dependencies are never resolved: the same today and next year.
    "$uv" pip install --quiet --no-deps --python "$venv/bin/python" --requirement "$requirements"
    cp "$requirements" "$venv/requirements.txt"  # last: an interrupted installation is made anew
}

[ $# -gt 0 ] || { echo "usage: tools/venv.sh NAME..., a name of samples/requirements" >&2; exit 2; }
for name in "$@"; do make_venv "$name"; done
