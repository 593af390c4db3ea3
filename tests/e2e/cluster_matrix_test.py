# SPDX-License-Identifier: Apache-2.0
"""Every way a job can end, for every job type, on the real control plane with the real operators: verdict, exit code, message, and what is left."""
import cluster_cells
import pytest
from cluster_cells import cells, denied  # noqa: F401

CLUSTER = {"mpi": "v2beta1"}
CELLS = [(kind, case) for case in cluster_cells.CASES for kind in cluster_cells.DISTRIBUTIONS]


@pytest.mark.parametrize("kind, case", cluster_cells.named(CELLS))
def test_cell(cells, kind, case):  # noqa: F811
    cluster_cells.check(cells, kind, case)
