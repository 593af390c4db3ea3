# SPDX-License-Identifier: Apache-2.0
"""Loads data, prepares them, trains on several workers, evaluates: a pipeline for the Kubeflow Pipelines SDK 1.8. digits.py [FILE] compiles it."""
import inspect
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "pipelines"), str(ROOT / "samples/data")]

import kfp  # noqa: E402
from kfp.components import InputPath, OutputPath, func_to_component_text, load_component_from_text  # noqa: E402
from make_digits import make_digits  # noqa: E402
from steps import evaluate_model, split_digits  # noqa: E402

PYTHON = {"base_image": "python:3.11", "packages_to_install": ["scikit-learn"]}
PYTORCH = {"base_image": "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime"}
SPECIFICATION = (ROOT / "samples/pytorch/train_specification.v1.yaml").read_text(encoding="utf-8")


def load(data_path: OutputPath("Dataset")):
    """Handwritten digits."""
    make_digits(data_path)


def preprocess(data_path: InputPath("Dataset"), train_data_path: OutputPath("Dataset"), test_data_path: OutputPath("Dataset")):
    """Images to train with, and others to evaluate with."""
    split_digits(data_path, train_data_path, test_data_path)


def evaluate(
    test_data_path: InputPath("Dataset"), model_path: InputPath("Model"), mlpipeline_ui_metadata_path: OutputPath(), minimum_accuracy: float
) -> float:
    """The model's accuracy on images that it has not seen; fails below a minimum."""
    import json

    accuracy, rows = evaluate_model(test_data_path, model_path, minimum_accuracy)
    cells = [f"{digit},{answer},{count}" for digit, row in enumerate(rows) for answer, count in enumerate(row)]
    schema = [{"name": "digit", "type": "CATEGORY"}, {"name": "answer", "type": "CATEGORY"}, {"name": "count", "type": "NUMBER"}]
    shown = {"type": "confusion_matrix", "storage": "inline", "format": "csv", "schema": schema, "labels": [str(digit) for digit in range(10)]}
    with open(mlpipeline_ui_metadata_path, "w") as file:
        json.dump({"version": 1, "outputs": [{**shown, "source": "\n".join(cells)}]}, file)
    return accuracy


def component(function, helper, image):
    """A function and the plain one that it calls, as a component."""
    return load_component_from_text(func_to_component_text(function, extra_code=inspect.getsource(helper), **image))


load_component = component(load, make_digits, PYTHON)
preprocess_component = component(preprocess, split_digits, PYTHON)
evaluate_component = component(evaluate, evaluate_model, PYTORCH)
# As text: of a file, the SDK would write its path into what it compiles.
train = load_component_from_text((ROOT / "component/component.yaml").read_text(encoding="utf-8"))


@kfp.dsl.pipeline(name="digits", description="Loads data, prepares them, trains on several workers, evaluates.")
def digits(epochs: int = 8, workers: int = 2, minimum_accuracy: float = 0.9, cluster_configuration_secret: str = "training-bucket"):
    prepared = preprocess_component(load_component().outputs["data"])
    training = train(
        prepared.outputs["train_data"],
        train_specification=SPECIFICATION,
        train_parameters={"train_dataset_dir": "train_dataset_dir", "model_dir": "model_dir", "epochs": epochs},
        distribution_specification={"distribution_type": "PyTorch", "number_of_workers": workers},
        model_name="digits",
        # The bucket over which the data reach the training pods (component/kubernetes/secrets/bucket.yaml): artifacts have no addresses in this SDK.
        cluster_configuration_secret=cluster_configuration_secret,
    )
    # Each run is to train: with equal inputs KFP would hand out an earlier run's model. Loading and preparing may be skipped.
    training.execution_options.caching_strategy.max_cache_staleness = "P0D"
    evaluate_component(prepared.outputs["test_data"], training.outputs["model_dir"], minimum_accuracy)


if __name__ == "__main__":
    kfp.compiler.Compiler().compile(digits, sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).with_suffix(".yaml")))
