# SPDX-License-Identifier: Apache-2.0
"""From Python to a cluster: submit, follow, attach, stop, on the real API server and operators with fake nodes."""
import _thread
import os
import re
import subprocess
import sys
import threading

import pytest
from conftest import ROOT
from waiting import until

sys.path.insert(0, str(ROOT / "sdk"))

import trainstep as sdk  # noqa: E402

CLUSTER = {}
LOG = "epoch=1/2 accuracy=0.5\nepoch=2/2 accuracy=0.9"
TWO = {"distribution_type": "PyTorch", "number_of_workers": 2}


def train(epochs: int = 2):
    print("on a fake node, the log is what its annotation says", epochs)


def fates(**how):
    """job_options of a run whose pods do what they are told."""
    return {"annotations": {f"fate/{name.replace('_', '-')}": value for name, value in {"log": LOG, "log-every-ms": "200", **how}.items()}}


@pytest.fixture(autouse=True)
def here(namespace, program, tmp_path, monkeypatch):
    """This interpreter in a folder of its own, with the namespace's kubeconfig."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRAINSTEP", str(program))
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig))
    monkeypatch.setenv("HOME", str(tmp_path))
    sdk.program.cache_clear()


@pytest.fixture
def submit(namespace):
    """As sdk.submit, in the test's namespace; what still runs in the end is stopped."""
    runs = []

    def begin(options, **more):
        runs.append(sdk.submit(train, {"epochs": 2}, TWO, namespace=namespace.name, job_options=options, **more))
        return runs[-1]

    yield begin
    for started in runs:
        started.stop()


@pytest.fixture
def jobs(cluster, namespace):
    return lambda resource="pytorchjobs.kubeflow.org": cluster.kubectl("get", resource, "-n", namespace.name)["items"]


def until_running(namespace, state="running"):
    return until(lambda: [job for job in sdk.list_jobs(namespace=namespace.name) if job.state == state], f"a job that is {state}")[0]


def test_submitted_run_is_followed_to_its_metrics_and_leaves_no_job(submit, jobs, capsys):
    result = submit(fates(run_ms="1500"), model_name="digits").follow()
    output = capsys.readouterr().out
    assert "[master-0] epoch=2/2 accuracy=0.9" in output
    assert result.metrics == {"accuracy": 0.9} and result.job_name.startswith("digits-") and "<svg" in result.report.read_text()
    assert jobs() == []


def test_failed_run_raises_what_the_program_says(submit, jobs):
    at_once = fates(run_ms="500", exit_code="3", log_every_ms="")  # a pod's times are whole seconds: of a shorter run a later line is not in its log
    with pytest.raises(sdk.TrainingError, match=r"failed \(user\).*exited with code 3") as failed:
        submit(at_once).follow()
    assert "  | epoch=2/2 accuracy=0.9" in str(failed.value) and failed.value.result.report.exists()
    assert jobs() == []


def test_detaching_keeps_the_run_and_following_again_continues(submit, namespace, capsys):
    options = fates(run_ms="5000")
    options["annotations"]["worker-0.fate/run-ms"] = "2500"  # one that still runs at the master's end is deleted, and its log is gone
    started = submit(options)
    until_running(namespace)
    until(lambda: "epoch=2/2" in started.log(), "the whole log")
    threading.Timer(0.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        started.follow()
    assert not started.done and "epoch=2/2" in capsys.readouterr().out
    assert "[worker-0] epoch=2/2 accuracy=0.9" in sdk.logs(started.run_id, "worker-0", namespace=namespace.name)
    assert started.follow().metrics == {"accuracy": 0.9}
    assert "epoch=2/2" not in capsys.readouterr().out


def test_submitted_run_outlives_the_interpreter_and_collects_and_cleans_up(jobs, tmp_path):
    call = f'trainstep.submit({{"image": "none", "command": ["true"]}}, folder="here", job_options={fates(run_ms="1500")})'
    (tmp_path / "submit.py").write_text(f"import trainstep\n{call}\n")
    subprocess.run([sys.executable, "-B", "submit.py"], env={**os.environ, "PYTHONPATH": str(ROOT / "sdk")}, check=True, timeout=60)
    until(lambda: "succeeded" in (tmp_path / "here/log.jsonl").read_text(), "the end")
    assert "accuracy" in (tmp_path / "here/metrics.json").read_text()
    until(lambda: jobs("jobs.batch") == [], "no job")


def test_stop_deletes_the_job(submit, namespace, jobs):
    started = submit(fates(run_ms="forever"))
    until_running(namespace)
    started.stop()
    assert started.done and "SIGINT" in started.log()
    with pytest.raises(sdk.StepCancelled):
        started.result()
    until(lambda: jobs() == [], "no job")


def test_other_clients_can_list_read_follow_and_stop_a_run(submit, namespace, jobs):
    started = submit(fates(run_ms="forever"))
    job = until_running(namespace)
    assert (job.run_id, job.kind) == (started.run_id, "PyTorch") and job.since.endswith("Z")
    threading.Timer(1.5, sdk.stop, [started.run_id], {"namespace": namespace.name}).start()
    with pytest.raises(sdk.InfrastructureError, match="deleted by another client"):
        sdk.attach(started.run_id, namespace=namespace.name)
    assert jobs() == []
    with pytest.raises(sdk.TrainstepError, match='no job of run "nobody"'):
        sdk.logs("nobody", namespace=namespace.name)


def test_cells_of_the_guide_work(jobs, tmp_path):
    cells = re.findall(r"^```python\n(# on a cluster\n.*?)^```", (ROOT / "docs/notebook.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(cells) == 2
    for number, cell in enumerate(cells):
        path = tmp_path / f"cell_{number}.py"
        path.write_text(cell, encoding="utf-8")
        names = {"trainstep": sdk}
        exec(compile(cell, str(path), "exec"), names)
        assert names["result"].exit_code == 0 and names["run"].done and jobs() == []


def test_training_clients_call_makes_the_job_that_it_says(namespace, cluster, jobs):
    client = sdk.TrainingClient(namespace=namespace.name)

    def train_func(parameters):
        print(parameters["epochs"])

    created = client.create_job(
        name="pytorch-ddp", train_func=train_func, parameters={"epochs": 3}, num_workers=3, resources_per_worker={"gpu": "2", "memory": "4Gi"},
        num_procs_per_worker=2, packages_to_install=["scikit-learn"], base_image="registry.example/digits:1", env_vars={"MODE": "fast"},
    )
    (job,) = until(jobs, "the job")
    replicas = job["spec"]["pytorchReplicaSpecs"]
    assert (replicas["Master"]["replicas"], replicas["Worker"]["replicas"]) == (1, 2)
    (container,) = replicas["Worker"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/digits:1" and {"name": "MODE", "value": "fast"} in container["env"]
    assert {name: str(amount) for name, amount in container["resources"]["limits"].items()} == {"memory": "4Gi", "nvidia.com/gpu": "2"}
    words = " ".join(container.get("command", []) + container.get("args", []))
    assert "'scikit-learn'" in words and 'print(parameters["epochs"])' in words and '{"epochs":3}' in words.replace(" ", "")
    assert [found.run_id for found in client.list_jobs()] == ["pytorch-ddp"]
    client.delete_job("pytorch-ddp")
    with pytest.raises(sdk.InfrastructureError):
        created.result()
    assert jobs() == []
