# SPDX-License-Identifier: Apache-2.0
"""pytest fixtures: a cluster for each module that asks for one, a namespace for each test.

    CLUSTER = {"nodes": "kwok"}  # of the module: arguments of Cluster.start

    def test_…(cluster, namespace): …

    @pytest.mark.parametrize("cluster", [{"mpi": "v1"}], indirect=True)  # one test on a different cluster
    def test_…(cluster, namespace): …
"""
import os
import pathlib
import shutil

import pytest

from cluster import ROOT, Cluster


@pytest.fixture(scope="module")
def cluster(request):
    """A running Cluster; it ends with the module, and with this process if that is killed. Its logs stay when a test fails."""
    folder = ROOT / "build/cluster" / f"{pathlib.Path(request.module.__file__).stem}-{os.getpid()}"
    failed = request.session.testsfailed
    with Cluster(folder) as started:
        started.start(**getattr(request, "param", getattr(request.module, "CLUSTER", {})))
        yield started
    if request.session.testsfailed == failed:
        shutil.rmtree(folder)


@pytest.fixture
def namespace(cluster):
    """A Namespace of this test's own."""
    with cluster.namespace() as made:
        yield made
