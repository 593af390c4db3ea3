#!/bin/bash
# tools/venv.sh NAME…: makes the Python environment build/venv/NAME of samples/requirements/NAME.txt, unless it is there.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
venv "$@"
