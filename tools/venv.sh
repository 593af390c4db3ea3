#!/bin/bash
# tools/venv.sh NAME…: makes build/venv/NAME with exactly what samples/requirements/NAME.txt lists; no work when it is current.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $# -gt 0 ]] || die "usage: tools/venv.sh NAME…, names of files in samples/requirements"
venv "$@"
