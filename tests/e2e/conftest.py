# SPDX-License-Identifier: Apache-2.0
"""Shared by the end-to-end tests: the release file of trainstep, the Python environments, and how to call them.

TRAINSTEP names the program (default build/release/trainstep), TRAINSTEP_VENVS the folder of the environments (default build/venv).
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
sys.path.insert(0, str(pathlib.Path(__file__).parent / "styles"))
sys.path.insert(0, str(ROOT / "tests/cluster"))
sys.path.insert(0, str(ROOT / "tests/support"))

# A real control plane, for tests that ask for it.
import data_steps  # noqa: E402
from burst_steps import burst, home, store_port  # noqa: E402, F401
from fixtures import cluster, namespace  # noqa: E402, F401
from surroundings import clean_environment, usual_signals  # noqa: E402

usual_signals()


@pytest.fixture(scope="session")
def program() -> pathlib.Path:
    path = pathlib.Path(os.environ.get("TRAINSTEP", ROOT / "build/release/trainstep"))
    assert path.is_file(), f"{path} does not exist: ./dev build makes it"
    return path.resolve()


@pytest.fixture(scope="session")
def python_of():
    """python_of("kfp2"): the interpreter of an environment of samples/requirements."""

    def find(name: str) -> str:
        path = pathlib.Path(os.environ.get("TRAINSTEP_VENVS", ROOT / "build/venv"), name, "bin/python")
        assert path.exists(), f"{path} does not exist: tools/venv.sh {name} makes it"
        return str(path)

    return find


@pytest.fixture
def trainstep(program, tmp_path):
    """trainstep("run", "--cluster", "local", …) → CompletedProcess with text. Values that are no text are written as JSON.

    The environment is the caller's without a cluster, and pip finds nothing: what is there needs no installation.
    """
    environment = clean_environment()
    environment.update({"HOME": str(tmp_path), "PIP_NO_INDEX": "1", "NO_COLOR": "1"})

    def call(*arguments, timeout=300, env=None, check=None):
        words = [str(program), *(a if isinstance(a, str) else str(a) if isinstance(a, pathlib.Path) else json.dumps(a) for a in arguments)]
        done = subprocess.run(
            words, cwd=tmp_path, env={**environment, **(env or {})}, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
        )
        if check is not None:
            assert done.returncode == check, f"exit {done.returncode} instead of {check}\n{done.stdout}\n{done.stderr}"
        return done

    return call


def read_json(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def store(cluster, program):
    """An S3 server that the pods of a real node reach; the node knows the agent's image."""
    data_steps.import_agent(cluster, program)
    return data_steps.Store(cluster)


@pytest.fixture
def data_step(cluster, store, program, tmp_path):
    """data_step("Job"): a step whose job moves data, in a namespace of its own that KFP has configured."""
    with cluster.namespace(data_steps.RULES) as space:
        store.configure(space)
        yield lambda kind: data_steps.DataStep(cluster, store, space, program, tmp_path, kind)
        store.forget(space)
