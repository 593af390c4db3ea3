# SPDX-License-Identifier: Apache-2.0
"""A step here trains in another cluster (tests/cluster/burst_steps.py), whatever happens to the network between them and to the step."""
import json
import signal
import sys
import time

import burst_runs
import data_steps
import pytest
from burst_secrets import WRONG
from burst_steps import RULES
from conftest import ROOT
from data_steps import AGENT_IMAGE, DISTRIBUTIONS, delivered

sys.path.insert(0, str(ROOT / "sdk"))

import trainstep as sdk  # noqa: E402

CLUSTER = {"nodes": "real"}  # the other one
BUSY = 10  # seconds that a busy machine may need more


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_a_step_here_trains_there_and_model_metrics_and_report_come_back(burst, kind):
    step = burst(kind)
    assert step.start().end() == 0, step.output
    assert delivered(step.tmp / "model", step.files), step.output
    results = json.loads((step.tmp / "results").read_text())
    assert results["digest"]["agreed"] is True and json.loads((step.tmp / "metrics").read_text()) == {"accuracy": 0.97}
    assert "has read 2 files" in step.output and "0.97" in (step.tmp / "report.html").read_text(encoding="utf-8")
    assert step.left_there() == [], step.output
    assert "has issued a new token for " in step.output  # that of the Secret is valid for ten minutes


def count_rows(train_dataset_dir: sdk.InputPath, model_dir: sdk.OutputPath):
    import os

    os.makedirs(model_dir)
    rows = open(os.path.join(train_dataset_dir, "rows.csv")).read().splitlines()
    open(os.path.join(model_dir, "rows.txt"), "w").write("\n".join(reversed(rows)))
    print(f"rows={len(rows)}")


def test_a_function_in_a_notebook_trains_there(burst, monkeypatch):
    step = burst("Job")
    (step.tmp / "data").mkdir()
    (step.tmp / "data/rows.csv").write_text("a\nb\n")
    monkeypatch.chdir(step.tmp)
    for name, value in step.environment.items() | {("TRAINSTEP", str(step.program)), ("HOME", str(step.tmp))}:
        monkeypatch.setenv(name, value)
    sdk.program.cache_clear()
    options = {"agent_image": AGENT_IMAGE, "environment": {"http_proxy": ""}}
    run = sdk.submit(count_rows, train_dataset_dir="data", cluster_configuration_secret="gpu", base_image=step.image, job_options=options)
    result = run.follow()
    assert result.metrics == {"rows": 2.0} and (result.model_dir / "rows.txt").read_text() == "b\na"
    assert step.left_there() == []


def test_a_bucket_that_only_the_step_reaches_is_named_and_nothing_is_left(burst):
    """Whether the pods there reach it shows when they run (docs/adr/0037-several-clusters.md)."""
    step = burst("Job")
    step.add_secret("spare", minio_url="http://192.0.2.1:9000")  # TEST-NET-1: the step gets there by its proxy
    step.start(**{"cluster-configuration-secret": "spare"})
    lines = []
    while "waiting for http://192.0.2.1:9000: " not in "".join(lines[-1:]) and (line := step.process.stdout.readline()):
        lines.append(line)
    assert "waiting for http://192.0.2.1:9000: " in "".join(lines[-1:]), "".join(lines)
    step.process.send_signal(signal.SIGTERM)
    assert step.end() == 143, "".join(lines) + step.output
    assert step.left_there() == [], step.output


SLOW = ["python3", "-c", "import time; time.sleep(45)\n" + data_steps.PROGRAM.replace("TOGETHER", "")]


def test_a_network_that_is_cut_for_half_a_minute_is_no_verdict(burst, cluster):
    step = burst("Job")
    step.command = SLOW
    step.start()
    step.await_running()
    cluster.stop_server("gate", "STOP")
    time.sleep(30)  # the fault itself
    cluster.stop_server("gate", "CONT")
    assert step.end() == 0, step.output
    assert delivered(step.tmp / "model", step.files) and step.left_there() == [], step.output


def test_a_step_that_is_killed_is_continued_by_the_next_attempt_which_finds_its_job(burst, cluster):
    step = burst("Job")
    step.command = SLOW
    step.start(**{"run-id": "again"})
    step.await_running()
    uid = step.job()["metadata"]["uid"]
    lease = cluster.kubectl("get", "leases.coordination.k8s.io", "-n", step.space.name)["items"][0]
    assert lease["metadata"]["ownerReferences"][0]["uid"] == uid and lease["spec"]["leaseDurationSeconds"] == 1800
    step.process.kill()
    step.process.communicate(timeout=10)
    keys = step.signing_keys()
    assert len(json.loads(keys)) == 3 and step.store.secret_key not in keys
    path = f"/api/v1/namespaces/{step.space.name}/secrets/{step.job()['metadata']['name']}-keys"
    cluster.api.call("PATCH", path, {"stringData": {"signing-keys": json.dumps({"20200101/us-east-1": "00"})}}, "application/merge-patch+json")
    step.start(**{"run-id": "again"})
    cluster.wait_for("apiserver", 30, lambda: step.job()["metadata"]["uid"] == uid and json.loads(step.signing_keys()).keys() >= json.loads(keys).keys())
    assert step.end() == 0 and "adopted" in step.output, step.output
    assert delivered(step.tmp / "model", step.files) and step.left_there() == [], step.output


@pytest.fixture
def full(cluster):
    """A namespace of the other cluster whose quota has no room for a pod."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    with cluster.namespace(RULES) as space:
        cluster.kubectl("create", "-n", space.name, "-f", "-", input=quota)
        read = lambda: cluster.kubectl("get", "resourcequotas", "none", "-n", space.name)  # noqa: E731
        cluster.wait_for("controller-manager", 30, lambda: "hard" in read().get("status", {}))
        yield space


def test_of_several_clusters_the_first_that_has_room_gets_the_job(burst, cluster, full):
    step = burst("Job")
    step.add_secret("away", remote_host="https://127.0.0.1:9")
    step.add_secret("full", remote_token=full.token, remote_namespace=full.name)
    assert step.start(**{"cluster-configuration-secret": "away,full,gpu"}).end() == 0, step.output
    assert delivered(step.tmp / "model", step.files) and step.left_there() == [], step.output
    assert "Secret away: " in step.output and "Secret full: the job would wait: quota none: pods: " in step.output
    assert "using the cluster of Secret gpu (" in step.output
    code, output = step.check("away,full")
    assert code == 0 and "cluster of Secret away\nerror" in output and "the job would wait" in output, output
    assert cluster.kubectl("get", "jobs,secrets,leases.coordination.k8s.io", "-n", full.name)["items"] == []


def test_a_retried_step_finds_its_job_in_the_cluster_that_had_room_then(burst, cluster, full):
    step = burst("Job")
    step.command = SLOW
    step.add_secret("full", remote_token=full.token, remote_namespace=full.name)
    wanted = {"run-id": "again", "cluster-configuration-secret": "full,gpu"}
    step.start(**wanted)
    step.await_running()
    step.process.kill()
    step.process.communicate(timeout=10)
    cluster.kubectl("delete", "resourcequotas", "none", "-n", full.name)
    step.start(**wanted)
    assert step.end() == 0 and "adopted" in step.output, step.output
    assert delivered(step.tmp / "model", step.files) and step.left_there() == [], step.output
    assert cluster.kubectl("get", "jobs", "-n", full.name)["items"] == []


@pytest.mark.parametrize("wrong", WRONG)
def test_a_secret_that_is_wrong_is_named_at_once_and_nothing_is_left(burst, cluster, home, wrong):
    make, said = WRONG[wrong]
    step = burst("Job")
    with make(cluster, home) as changes:
        step.add_secret("spare", **changes)
        begun = time.monotonic()
        code = step.start(**{"cluster-configuration-secret": "spare"}).end()
        assert time.monotonic() - begun < 5 + BUSY, step.output
        assert code in (2, 3) and said in step.output, step.output
        assert step.left_there() == [], step.output
        there = changes.get("remote_namespace", "")
        assert not there.startswith("test-") or step.left_in(there) == [], step.output


@pytest.mark.parametrize(("secret", "said"), [("spare", "get secrets/spare: not found in namespace "), ("private", "get secrets/private: forbidden: ")])
def test_a_secret_that_cannot_be_read_is_named_at_once(burst, secret, said):
    step = burst("Job")
    step.add_secret("private")  # which its account may not read
    begun = time.monotonic()
    assert step.start(**{"cluster-configuration-secret": secret}).end() in (2, 3) and said in step.output, step.output
    assert time.monotonic() - begun < 5 + BUSY, step.output
    assert step.left_there() == [], step.output


def test_whatever_is_killed_and_cut_there_is_one_job_and_its_model_comes_back(cluster, home, store, store_port, program, tmp_path):
    pair = type("Pair", (), {"cluster": cluster, "home": home, "store": store, "store_port": store_port})
    for seed in range(3):
        story = burst_runs.run(pair, program, tmp_path, seed)
        assert not story, "\n".join(story)
