# SPDX-License-Identifier: Apache-2.0
"""A complete step of Kubeflow Pipelines 2, with a minimal cluster: the resulting contents of the object store, what KFP is told, and the log."""
import json
import sys

import pytest
from conftest import PROGRAM, ROOT
from surroundings import clean_environment

sys.path.insert(0, str(ROOT / "tests/kfp"))

import v2  # noqa: E402
from small_cluster import Ended, SmallCluster  # noqa: E402

TYPES = {"model_dir": "Model", "metrics": "Metrics", "report": "HTML", "mlpipeline_metrics": "Artifact", "mlpipeline_ui_metadata": "Artifact"}
PATHS = ("model_dir", "metrics", "mlpipeline_metrics", "mlpipeline_ui_metadata")
PROGRAM_TEXT = {"image": "none", "command": ["train", *({"outputPath": name} for name in PATHS)]}


def pipeline(specification) -> dict:
    """A step `train`, as the SDK compiles it of component/component.yaml."""
    values = {"train_specification": specification, "job_options": {"agent_image": "trainstep:1"}, "model_name": "digits"}
    constants = {name: {"runtimeValue": {"constant": value}} for name, value in values.items()}
    outputs = {
        "artifacts": {name: {"artifactType": {"schemaTitle": f"system.{kind}", "schemaVersion": "0.0.1"}} for name, kind in TYPES.items()},
        "parameters": {"job_name": {"parameterType": "STRING"}, "results": {"parameterType": "STRUCT"}},
    }
    container = {"image": "none", "command": ["/usr/local/bin/trainstep", "run"], "args": ["--executor-input", "{{$}}"]}
    return {
        "pipelineInfo": {"name": "pipeline"},
        "components": {"comp-train": {"executorLabel": "exec-train", "outputDefinitions": outputs}},
        "deploymentSpec": {"executors": {"exec-train": {"container": container}}},
        "root": {"dag": {"tasks": {"train": {"componentRef": {"name": "comp-train"}, "inputs": {"parameters": constants}}}}},
    }


class Step:
    """`delivered`: output → what the program's pod puts at its address; `returned`: value → what it is; `named`: output → the address that the
    program names, and whether it can be one; `log`: what it prints."""

    def __init__(self, folder):
        self.backend = v2.Backend(folder / "kfp", "2.17.1", {"/usr/local/bin/trainstep": [str(PROGRAM)]})
        self.delivered, self.metadata, self.log, self.code, self.specification = {}, {}, "", 0, PROGRAM_TEXT
        self.returned, self.named = {}, {}
        self.cluster = SmallCluster(self.backend.store, self.train)
        self.termination_log = folder / "termination-log"
        self.termination_log.touch()
        kept = clean_environment()
        self.backend.environment = {**kept, **self.cluster.environment(folder), "NO_COLOR": "1", "TRAINSTEP_TERMINATION_LOG": str(self.termination_log)}

    def place(self, output):
        return f"mlpipeline/v2/artifacts/pipeline/{v2.RUN_ID}/train/0e2cbb5d-5a1c/{output}"

    def train(self, variables):
        """In the pod, where the agent delivers before it reports."""
        if not self.code:
            for name, files in self.delivered.items():
                for path, content in files.items():
                    self.backend.store[self.place(name) + path] = content.encode()
        names = [name for name in PATHS if name in self.delivered or name in self.metadata]
        outputs = [{"name": n, "artifact": True, "present": n in self.delivered, "metadata": self.metadata.get(n, {})} for n in names]
        outputs += [{"name": n, "artifact": True, "present": present, "uri": uri} for n, (uri, present) in self.named.items()]
        outputs += [{"name": n, "artifact": False, "present": True, "value": value} for n, value in self.returned.items()]
        return Ended({"outputs": outputs} if not self.code else None, self.code, self.log)

    def run(self):
        text = self.specification if isinstance(self.specification, str) else json.dumps(self.specification)
        return self.backend.run(pipeline(text)).tasks["train"]

    def fails(self):
        with pytest.raises(v2.StepFailed) as failed:
            self.run()
        return failed.value

    def stored(self, output):
        return self.backend.store[self.place(output)].decode()


@pytest.fixture
def step(tmp_path):
    one = Step(tmp_path)
    yield one
    one.cluster.close()


MODEL = {"/model.txt": "a model"}


def test_metrics_from_the_program_and_from_its_log_are_merged(step):
    step.delivered = {"model_dir": MODEL, "metrics": {"": '{"score": 0.75, "loss": 0.1}'}}
    step.log = "loss=0.5 accuracy=0.9\n"
    task = step.run()
    assert json.loads(step.stored("metrics")) == {"score": 0.75, "loss": 0.1, "accuracy": 0.9}
    assert task.artifacts["metrics"]["metadata"] == {"score": 0.75, "loss": 0.1, "accuracy": 0.9}
    assert {m["name"] for m in json.loads(step.stored("mlpipeline_metrics"))["metrics"]} == {"score", "loss", "accuracy"}


def returning(**types) -> str:
    """The specification of a function of the SDK 1.8 that returns these."""
    outputs = "".join(f"- {{name: {name}, type: {kind}}}\n" for name, kind in types.items())
    paths = ", ".join(f"{{outputPath: {name}}}" for name in types)
    return f"outputs:\n{outputs}implementation: {{container: {{image: none, command: [train], args: [----output-paths, {paths}]}}}}\n"


def test_what_the_program_returned_arrives_as_it_is(step):
    step.specification = returning(history="JsonArray", best="JsonObject")
    step.returned = {"history": [1, None, 3, [], [None]], "best": {"epoch": None, "losses": [None, 0.5], "none": {}}}
    assert step.run().parameters["results"] == step.returned


def test_a_returned_value_is_not_a_model_whatever_its_name(step):
    step.specification = returning(model_dir="String", metrics="Float")
    step.returned = {"model_dir": "s3://bucket/model", "metrics": 0.5}
    step.log = "loss=0.5\n"
    task = step.run()
    assert task.parameters["results"] == step.returned
    assert task.artifacts["model_dir"]["metadata"] == {} and task.artifacts["model_dir"]["uri"] == f"minio://{step.place('model_dir')}"
    assert json.loads(step.stored("metrics")) == {"loss": 0.5}
    assert "model_dir: the program returns a value of this name, which goes to results and is not a model" in task.log


def test_an_address_of_a_registered_model_is_handed_on(step):
    step.named = {"model_dir": ("models:/digits/3", True)}
    task = step.run()
    assert task.artifacts["model_dir"]["uri"] == "models:/digits/3" and task.parameters["results"]["model_dir"] == "models:/digits/3"


def test_an_incomplete_address_is_not_a_model(step):
    step.named = {"model_dir": ("hf://", False)}
    assert "model_dir: the program reported its model at hf://, which has no name after hf://" in step.fails().log


def test_a_metric_that_is_not_a_number_is_reported_and_shown(step):
    step.delivered = {"model_dir": MODEL}
    step.log = "loss=0.5 accuracy=0.9\nloss=nan\n"
    task = step.run()
    assert json.loads(step.stored("metrics")) == {"accuracy": 0.9}
    assert task.artifacts["metrics"]["metadata"] == {"loss": "NaN", "accuracy": 0.9}
    sentence = "metrics: loss=NaN is omitted from the file: not a valid JSON number"
    assert sentence in task.log and sentence in step.stored("report")


def test_what_is_not_a_number_among_the_programs_metrics_is_reported(step):
    step.delivered = {"model_dir": MODEL, "metrics": {"": '{"accuracy": 0.9, "converged": true, "split": "test", "best": null}'}}
    step.log = "loss=0.5\n"
    task = step.run()
    assert json.loads(step.stored("metrics")) == {"accuracy": 0.9, "loss": 0.5, "converged": True, "split": "test"}
    for line in ("metrics: converged, split are not numbers: in the file, but not among the metrics", "metrics: best is not a number: omitted from the file"):
        assert task.log.count(line) == 1, task.log


OTHER = {
    "a table": {"metrics": {"": "epoch,loss\n1,0.5\n"}},
    "a folder": {"metrics": {"/train.json": "{}", "/test.json": "{}"}},
    "metrics of KFP 1 that are none": {"mlpipeline_metrics": {"": "[]"}},
    "no UI metadata": {"mlpipeline_ui_metadata": {"": "see above"}},
}


@pytest.mark.parametrize("delivered", OTHER.values(), ids=OTHER)
def test_nothing_that_was_delivered_is_overwritten(step, delivered):
    step.delivered = {"model_dir": MODEL, **delivered}
    step.log = "loss=0.5\n"
    step.run()
    for name, files in step.delivered.items():
        below = {key[len(step.place(name)):]: content.decode() for key, content in step.backend.store.items() if key.startswith(step.place(name))}
        assert below == files


def test_what_may_not_be_read_is_not_overwritten(step):
    step.delivered = {"model_dir": MODEL, "metrics": {"": '{"score": 0.75}'}}
    step.log = "loss=0.5\n"
    step.cluster.refused[f"GET /{step.place('metrics')}"] = 403
    task = step.run()
    assert step.stored("metrics") == '{"score": 0.75}' and task.artifacts["metrics"]["metadata"] == {"loss": 0.5}
    assert "metrics: the program's output is not merged with its log's metrics" in task.log and "AccessDenied" in task.log


def test_entries_of_the_programs_own_stay_among_the_ui_metadata(step):
    step.delivered = {"model_dir": MODEL, "mlpipeline_ui_metadata": {"": '{"outputs": [{"type": "roc"}]}'}}
    step.run()
    assert [entry["type"] for entry in json.loads(step.stored("mlpipeline_ui_metadata"))["outputs"]] == ["roc", "web-app"]


def test_a_delivered_model_stays_and_the_launcher_has_nothing_to_complain_of(step):
    step.delivered = {"model_dir": MODEL}
    task = step.run()
    assert step.stored("model_dir/model.txt") == "a model" and "does not exist" not in task.log
    assert task.artifacts["model_dir"]["metadata"]["distribution_type"] == "Job"
    assert f"report: minio://{step.place('report')}" in task.log


def test_metadata_without_a_file_is_not_a_model(step):
    step.metadata = {"model_dir": {"framework": "pytorch"}}
    failed = step.fails()
    assert "exit status 1" in str(failed) or "exit status 2" in str(failed)
    assert "model_dir: the program wrote nothing" in failed.log


def fail(step):
    step.code, step.log = 7, 'loss=3\nTraceback (most recent call last):\n  File "train.py", line 1, in <module>\nValueError: out of luck\n'
    return step.fails()


def test_a_failed_steps_report_is_uploaded_and_the_log_says_where(step):
    failed = fail(step)
    assert "out of luck" in step.stored("report")
    assert f"report: minio://{step.place('report')}" in failed.log
    assert str(step.backend.folder / "minio") not in failed.log
    assert [key for key in step.backend.store if key != step.place("report")] == []


def test_a_report_that_could_not_be_uploaded_is_reported(step):
    step.cluster.refused["PUT /mlpipeline"] = 403
    failed = fail(step)
    assert "cannot write the report to minio://" in failed.log and "AccessDenied" in failed.log and "  report: " not in failed.log


def test_the_verdict_is_the_containers_termination_message(step):
    fail(step)
    said = step.termination_log.read_text()
    assert "failed (user)" in said and "out of luck" in said and "\n" not in said and len(said.encode()) <= 4096


def test_an_input_that_is_wrong_is_the_containers_termination_message(step):
    step.specification = {"image": "none"}
    step.fails()
    assert "train_specification.command" in step.termination_log.read_text()


def test_a_success_leaves_no_termination_message(step):
    step.delivered = {"model_dir": MODEL}
    step.run()
    assert step.termination_log.read_text() == ""
