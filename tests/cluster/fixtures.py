# SPDX-License-Identifier: Apache-2.0
"""pytest fixtures: a cluster for each module that asks for one, a namespace for each test.

    CLUSTER = {"nodes": "kwok", "mpi": "v1"}  # of the module; arguments of Cluster.start, or a list of such, then its tests run once for each

    def test_…(cluster, namespace): …
"""
import os
import pathlib
import shutil

import pytest

from cluster import ROOT, Cluster


def pytest_generate_tests(metafunc):
    if "cluster" in metafunc.fixturenames:
        options = getattr(metafunc.module, "CLUSTER", {})
        options = options if isinstance(options, list) else [options]
        names = ["-".join(map(str, each.values())) or "kwok" for each in options]
        metafunc.parametrize("cluster", options, ids=names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def cluster(request):
    """A running Cluster; it ends with the module, and with this process if that is killed. Its logs stay when a test fails."""
    folder = ROOT / "build/cluster" / f"{pathlib.Path(request.module.__file__).stem}-{os.getpid()}"
    failed = request.session.testsfailed
    with Cluster(folder) as started:
        started.start(**request.param)
        yield started
    if request.session.testsfailed == failed:
        shutil.rmtree(folder)


@pytest.fixture
def namespace(cluster):
    """A Namespace of this test's own."""
    with cluster.namespace() as made:
        yield made
