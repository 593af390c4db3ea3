# SPDX-License-Identifier: Apache-2.0
"""pytest fixtures: a cluster for each module that asks for one, a namespace for each test.

    CLUSTER = {"nodes": "kwok", "mpi": "v1"}  # of the module; arguments of Cluster.start, or a list of such, then its tests run once for each

    def test_…(cluster, namespace): …
"""
import os
import pathlib
import re

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
    """A running Cluster; it ends with the module, and with this process if that is killed."""
    name = re.sub(r"\W+", "-", pathlib.Path(request.module.__file__).stem)
    with Cluster(ROOT / f"build/cluster/{name}-{os.getpid()}") as started:
        started.start(**request.param)
        yield started


@pytest.fixture
def namespace(cluster):
    """A Namespace of this test's own."""
    with cluster.namespace() as made:
        yield made
