# SPDX-License-Identifier: Apache-2.0
"""The matrix for MPIJob v1, which a cluster serves instead of v2beta1."""
import cluster_cells
import pytest
from cluster_cells import cells, denied  # noqa: F401

CLUSTER = {"mpi": "v1"}
cluster_cells.CASES[cluster_cells.quota_refuses] = (5, "the operator does not report the reason")  # its event has no cause
CELLS = [("MPI", case) for case in cluster_cells.CASES]


@pytest.mark.parametrize("kind, case", cluster_cells.named(CELLS))
def test_cell(cells, kind, case):  # noqa: F811
    cluster_cells.check(cells, kind, case)
