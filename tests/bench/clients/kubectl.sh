#!/bin/bash
# A job run with kubectl as users run it: create, show the log, wait. Usage: … KUBECTL NAMESPACE MANIFEST
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
kubectl=("$1" --namespace "$2")
name=$("${kubectl[@]}" create -f - -o name <<<"$3")
"${kubectl[@]}" wait "$name" --for=condition=Running --timeout=60s
"${kubectl[@]}" logs -f "${name##*/}-master-0"
"${kubectl[@]}" wait "$name" --for=condition=Succeeded --timeout=60s
