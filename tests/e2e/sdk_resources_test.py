# SPDX-License-Identifier: Apache-2.0
"""No call of the Python package leaves a file or a process to the garbage collector, which development mode and many test suites report."""
import textwrap

import pytest
from conftest import ROOT
from sdk_scripts import environment, script, start  # noqa: F401

FUNCTIONS = """
    import gc, os

    def train(model_dir: trainstep.OutputPath, epochs: int = 1, fails: bool = False):
        os = __import__("os")
        os.makedirs(model_dir)
        with open(os.path.join(model_dir, "model"), "w") as file:
            file.write("model")
        print("loss=0.5")
        assert not fails

    def refused(call, *words, **more):
        try:
            call(*words, **more)
        except (trainstep.TrainstepError, OSError) as problem:
            return str(problem)
        raise AssertionError("not refused")
"""

CALLS = {
    "a run": 'assert trainstep.run(train).metrics == {"loss": 0.5}',
    "a run that fails": 'assert "failed" in refused(trainstep.run, train, {"fails": True})',
    "a run that is refused": 'assert "epoch" in refused(trainstep.run, train, {"epoch": 2})',
    "a folder that is no folder": """
    open("file", "w").close()
    refused(trainstep.run, train, folder="file")
    os.makedirs("held/metrics.json/below")
    refused(trainstep.run, train, folder="held")
    """,
    "a program that is none": """
    os.environ["TRAINSTEP"] = "/bin/false"
    refused(trainstep.run, train)
    """,
    "a disk that is full": """
    import resource
    specification = trainstep.train_specification(train)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
    refused(trainstep.run, specification)
    """,
    "what asks a cluster": """
    for call in (trainstep.list_jobs, lambda: trainstep.logs("a"), lambda: trainstep.stop("a"), lambda: trainstep.attach("a")):
        refused(call)
    """,
    "a step that is asked for its end": """
    step = trainstep.submit(train)
    refused(step.result), refused(step.result), step.log(), repr(step)
    """,
    "a step that is stopped": """
    step = trainstep.submit(train)
    step.stop(), step.stop()
    """,
    "a step that is left to itself": """
    trainstep.submit(train)
    gc.collect()
    step = trainstep.submit(train)
    """,
}


@pytest.fixture
def interpreter(program, tmp_path):
    """Without a cluster; warnings are errors."""
    return ["env", f"PYTHONPATH={ROOT}/sdk", f"TRAINSTEP={program}", f"KUBECONFIG={tmp_path}/none", "/usr/bin/python3", "-B", "-X", "dev", "-W", "error"]


@pytest.mark.parametrize("call", CALLS)
def test_nothing_is_left_to_the_garbage_collector(script, call):
    output = script(textwrap.dedent(FUNCTIONS) + textwrap.dedent(CALLS[call]) + "\ngc.collect()\n")
    assert "Warning" not in output and "Exception ignored" not in output, output
