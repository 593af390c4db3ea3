#!/bin/bash
# ./dev cluster up [OPTIONS] | down: a Kubernetes cluster with the operators on this machine, as the tests use it; OPTIONS are those of tests/cluster/up.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

action=${1:-}
[[ $action == up || $action == down ]] || die "usage: ./dev cluster up [--nodes kwok|real] [--mpi v2beta1|v1] [--without OPERATOR] | down"
if [[ $action == down ]]; then
  need "${cluster_packages[@]}"
  exec tests/cluster/down "${@:2}"
fi
programs=$(tests/cluster/build)
kubeconfig=$(tests/cluster/up "${@:2}")
echo "export KUBECONFIG=$kubeconfig"
echo "kubectl of the same version: $programs/bin/kubectl"
