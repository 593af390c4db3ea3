#!/bin/bash
# tools/venv.sh NAME…: creates build/venv/NAME with exactly the packages that samples/requirements/NAME.txt lists; does nothing if it is up to date.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $# -gt 0 ]] || die "usage: tools/venv.sh NAME…, names of files in samples/requirements"
venv "$@"
