# SPDX-License-Identifier: Apache-2.0
"""The samples as a pipeline runs them on a real cluster: each framework trains in real pods on a data set in a bucket and stores its model there."""
import json

import pytest
import samples
from data_steps import AGENT_IMAGE, BUCKET, MACHINE, DataStep

CLUSTER = {"nodes": "real", "mpi": "v2beta1"}
# kind → (sample, distribution, model file, its beginning, environment its packages lie in)
KINDS = {
    "Job": ("job", {}, "model.joblib", b"\x80", "job"),
    "PyTorch": ("pytorch", {"number_of_workers": 2}, "model.pt", b"PK", "pytorch"),
    "MPI": ("mpi", {"number_of_workers": 2}, "model.npz", b"PK", "job"),
    "TF": ("tf", {"number_of_workers": 1, "number_of_parameter_servers": 1}, "model.keras", b"PK", "tf"),
}


class SampleStep(DataStep):
    def prepare(self, python_of):
        self.sample, self.distribution, self.file, self.beginning, environment = KINDS[self.kind]
        metrics = {"name": "metrics", "type": {"schemaTitle": "system.Metrics"}, "uri": f"minio://{BUCKET}/{self.run_key}/metrics"}
        self.reports = {"metrics": {"artifacts": [metrics | {"customPath": str(self.tmp / "metrics"), "metadata": {}}]}}
        self.options = {**samples.options(python_of, environment, [] if self.kind == "MPI" else MACHINE), "agent_image": AGENT_IMAGE}
        return self

    def values(self):
        return {
            "train_specification": samples.specification(self.sample, self.image),
            "train_parameters": {"train_dataset_dir": "train_dataset_dir", "model_dir": "model_dir", "epochs": 4},
            "distribution_specification": {"distribution_type": self.kind, **self.distribution},
            "job_options": self.options,
            **self.more,
        }

    def check(self):
        model = self.model / self.file
        assert model.read_bytes().startswith(self.beginning), self.output
        output = json.loads((self.tmp / "executor_output.json").read_text())
        assert list(output["artifacts"]) == ["model_dir", "metrics"]
        assert 0.85 <= output["artifacts"]["metrics"]["artifacts"][0]["metadata"]["accuracy"] <= 1, self.output
        assert self.own_paths() == {"model_dir": None}, "nothing passes through the step"
        assert self.left() == [], self.output


@pytest.fixture
def sample_step(data_step, store, python_of):
    def make(kind):
        step = data_step(kind)
        step.__class__ = SampleStep
        samples.make_digits(python_of, store.files / "sets" / kind)
        return step.prepare(python_of)

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_sample_trains_on_an_artifact_and_leaves_its_model_at_the_artifacts_address(sample_step, kind):
    step = sample_step(kind)
    assert step.run_with_artifacts(f"sets/{kind}") == 0, step.output
    step.check()


def test_address_of_the_data_may_be_a_string_so_that_it_is_not_copied_first(sample_step):
    step = sample_step("PyTorch")
    step.data_as_text = True
    assert step.run_with_artifacts("sets/PyTorch") == 0, step.output
    step.check()


@pytest.mark.parametrize("cluster", [{"nodes": "real", "mpi": "v1"}], indirect=True, ids=["v1"])
def test_sample_trains_as_an_mpi_job_of_the_training_operator(cluster, sample_step):
    step = sample_step("MPI")
    assert step.run_with_artifacts("sets/MPI") == 0, step.output
    step.check()
