# SPDX-License-Identifier: Apache-2.0
"""TensorBoard logs among a step's outputs: their curves in the report, their last values as metrics; locally, in a pod's agent, in a step on a cluster."""
import json
import re
import subprocess
import sys
import time

import pytest
from agent_test import Store, start
from conftest import PROGRAM, ROOT
from pipeline_test import Step
from surroundings import clean_environment
from tensorboard import event_file

WRITE = f"{sys.executable} {ROOT}/tests/support/tensorboard.py"


class Run:
    """A local step whose program is a shell script with the model's folder as $0."""

    def __init__(self, folder):
        self.folder = folder
        self.said = ""

    def __call__(self, script, options=None):
        program = {"image": "none", "command": ["sh", "-c", script, {"outputPath": "model_dir"}]}
        words = [PROGRAM, "run", "--cluster", "local", "--run-dir", self.folder / "run", "--train-specification", json.dumps(program)]
        words += ["--job-options", json.dumps(options or {})]
        for name in ("model_dir", "metrics", "report"):
            words += ["--" + name.replace("_", "-"), self.folder / name]
        ended = subprocess.run(words, env={**clean_environment(), "NO_COLOR": "1"}, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        self.said = ended.stdout
        assert ended.returncode == 0, self.said
        return json.loads((self.folder / "metrics").read_text())

    def curves(self):
        """The titles of the charts in the report."""
        return [title for title in re.findall(r'aria-label="([^"]*)"', (self.folder / "report").read_text()) if title != "phases"]


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def test_curves_and_last_values_of_logs_in_the_model_s_folder(run):
    assert run(f"{WRITE} $0/logs/tfevents.1 1 score/a 0.5 2 score/a 0.25; echo model > $0/weights") == {"score/a": 0.25}
    assert run.curves() == ["score/a"]
    assert (run.folder / "model_dir/logs/tfevents.1").exists()


def test_runs_in_subfolders_are_curves_of_their_own(run):
    script = "; ".join(f"{WRITE} $0/logs/{part}/tfevents.1 1 epoch_loss {value} 2 epoch_loss {value}" for part, value in (("train", 0.5), ("validation", 0.75)))
    assert run(script) == {"train/epoch_loss": 0.5, "validation/epoch_loss": 0.75}
    assert run.curves() == ["epoch_loss"]  # both in one chart
    assert "training" in (run.folder / "report").read_text()


def test_the_log_takes_precedence_over_event_files(run):
    script = f"{WRITE} $0/tfevents.1 1 loss 0.5 2 loss 0.25; echo 'loss=0.125'"
    assert run(script) == {"loss": 0.125}
    assert run.curves() == ["loss"]  # the log has one value of it: no curve


def test_only_the_last_attempt_is_used(run):
    script = f"if [ -e $0 ]; then {WRITE} $0/tfevents.2 2 loss 0.25 3 loss 0.125; else {WRITE} $0/tfevents.1 1 loss 9 4 loss 9 4 gone 9; exit 1; fi"
    assert run(script, {"run_policy": {"restart_policy": "OnFailure", "backoff_limit": 1}}) == {"loss": 0.125}
    assert (run.folder / "model_dir/tfevents.1").exists()


def test_event_files_of_an_earlier_run_are_ignored(run):
    assert run(f"{WRITE} $0/tfevents.1 1 old 1; echo model > $0/weights") == {"old": 1}
    assert run(f"{WRITE} $0/tfevents.2 1 new 2; echo model > $0/weights") == {"new": 2}
    assert run("mkdir $0; echo model > $0/weights") == {}


@pytest.mark.parametrize("age", [3600, 0])
def test_event_files_shipped_with_the_program_are_ignored(run, age):
    (run.folder / "given").write_bytes(event_file([(1, {"theirs": 1.0})], time.time() - age))
    assert run(f"mkdir $0; cp {run.folder}/given $0/tfevents.1; {WRITE} $0/tfevents.2 1 ours 2") == {"ours": 2}
    assert "ignoring 1 values of TensorBoard event files that are older than the training" in run.said


def test_unreadable_event_files_do_not_fail_the_training(run):
    script = f"mkdir $0; mkfifo $0/fifo.tfevents; ln -s . $0/loop; head -c 100 /dev/zero > $0/a.tfevents; {WRITE} $0/b.tfevents 1 loss 0.5; printf cut >> $0/b.tfevents; rm $0/fifo.tfevents"
    assert run(script) == {"loss": 0.5}
    assert "model_dir: a.tfevents: damaged at byte 0" in run.said


def agents_message(tmp_path, script):
    store = Store("nothing")
    try:
        process, message = start(tmp_path, store, script)
        assert process.wait(timeout=60) == 0
        return json.loads(message.read_text()), json.loads(store.objects["/bkt/run/.trainstep/train/finished.json"])
    finally:
        store.shutdown()
        store.server_close()


def test_an_agent_reports_few_curves_in_its_message(tmp_path):
    told, record = agents_message(tmp_path, f"{WRITE} $MODEL/tfevents 1 loss 0.5 2 loss 0.25")
    [curve] = told["outputs"][0]["curves"]
    assert (curve["name"], [point[:2] for point in curve["points"]]) == ("loss", [[1, 0.5], [2, 0.25]])
    assert "curves_thinned" not in told
    assert record["outputs"] == told["outputs"]


def test_an_agent_writes_long_curves_to_the_record(tmp_path):
    words = " ".join(f"{step} loss {step}" for step in range(200))
    told, record = agents_message(tmp_path, f"{WRITE} $MODEL/tfevents {words}")
    assert told["curves_thinned"]
    points = [point[:2] for point in told["outputs"][0]["curves"][0]["points"]]
    assert len(points) == 30 and points[-1] == [199, 199]
    assert len(json.dumps(told)) < 1100
    assert [point[:2] for point in record["outputs"][0]["curves"][0]["points"]] == [[step, step] for step in range(200)]


def curve(name, values):
    """As an agent reports it."""
    return {"name": name, "points": [[step, value, 1_795_334_401] for step, value in enumerate(values)]}


class Told(Step):
    """A pipeline step whose pod reports the curves `told`, and whose record, if there is one, contains `recorded`."""

    def __init__(self, folder):
        super().__init__(folder)
        self.delivered["model_dir"] = {"/weights": "w"}
        self.log = "acc=0.5\n"
        self.told, self.recorded, self.thinned = [], None, False

    def train(self, variables):
        ended = super().train(variables)
        ended.report["outputs"][0]["curves"] = self.told
        ended.report["curves_thinned"] = self.thinned
        task = json.loads(variables["TRAINSTEP_TASK"])
        if self.recorded is not None:
            report = {"trainstep_report": 1, "class": "succeeded", "exit_code": 0, "attempt": task["attempt"], "primary": True}
            report["outputs"] = [{"name": "model_dir", "artifact": True, "present": True, "curves": self.recorded}]
            self.backend.store[task["record"]["uri"].partition("://")[2]] = json.dumps(report).encode()
        return ended

    def metrics(self):
        self.run()
        return {item["name"]: item["numberValue"] for item in json.loads(self.stored("mlpipeline_metrics"))["metrics"]}


@pytest.fixture
def told(tmp_path):
    return Told(tmp_path)


def test_a_step_uses_the_curves_reported_by_the_pod(told):
    told.told = [curve("loss", [1, 0.25]), curve("acc", [1, 2])]
    assert told.metrics() == {"acc": 0.5, "loss": 0.25}
    assert 'aria-label="loss"' in told.stored("report")


def test_a_step_fetches_long_curves_from_the_record(told):
    told.told, told.thinned, told.recorded = [curve("loss", [0.25])], True, [curve("loss", [1, 0.5, 0.25]), curve("other", [3])]
    assert told.metrics() == {"acc": 0.5, "loss": 0.25, "other": 3}
    assert 'aria-label="loss"' in told.stored("report")


def test_a_step_whose_record_cannot_be_read_uses_what_is_available(told):
    told.told, told.thinned = [curve("loss", [0.25])], True
    assert told.metrics() == {"acc": 0.5, "loss": 0.25}
