# SPDX-License-Identifier: Apache-2.0
"""Without an operator: the API server accepts the jobs, and no controller picks them up."""
import cluster_cells
import pytest
from cluster_cells import cells, denied  # noqa: F401

CLUSTER = {"mpi": "v2beta1", "without": ("training-operator", "mpi-operator")}


def operator_absent(step):
    return step.run(options={"limits": {"queued": 5}})


cluster_cells.CASES[operator_absent] = (3, "is the operator of this kind running?")
CELLS = [(kind, operator_absent) for kind in ("PyTorch", "MPI", "TF")]


@pytest.mark.parametrize("kind, case", cluster_cells.named(CELLS))
def test_cell(cells, kind, case):  # noqa: F811
    cluster_cells.check(cells, kind, case)
