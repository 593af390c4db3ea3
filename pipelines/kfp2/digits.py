# SPDX-License-Identifier: Apache-2.0
"""Loads data, prepares them, trains on one or several workers, evaluates, converts to ONNX, deploys: a pipeline for the Kubeflow Pipelines SDK 2.

digits.py [FILE] compiles it.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "pipelines"), str(ROOT / "samples/data")]

from kfp import compiler, dsl  # noqa: E402
from kfp.components import load_component_from_file  # noqa: E402
from make_digits import make_digits  # noqa: E402
from steps import convert_model, deploy_model, evaluate_model, split_digits  # noqa: E402

PYTHON = {"base_image": "python:3.11", "packages_to_install": ["scikit-learn"]}
PYTORCH = {"base_image": "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime"}
train = load_component_from_file(str(ROOT / "component/component.yaml"))
SPECIFICATION = (ROOT / "samples/pytorch/train_specification.v2.yaml").read_text(encoding="utf-8")


@dsl.component(**PYTHON, additional_funcs=[make_digits])
def load(data: dsl.Output[dsl.Dataset]):
    """Handwritten digits."""
    make_digits(data.path)


@dsl.component(**PYTHON, additional_funcs=[split_digits])
def preprocess(data: dsl.Input[dsl.Dataset], train_data: dsl.Output[dsl.Dataset], test_data: dsl.Output[dsl.Dataset]):
    """Images to train with, and others to evaluate with."""
    split_digits(data.path, train_data.path, test_data.path)


@dsl.component(**PYTORCH, additional_funcs=[evaluate_model])
def evaluate(
    test_data: dsl.Input[dsl.Dataset],
    model: dsl.Input[dsl.Model],
    confusion: dsl.Output[dsl.ClassificationMetrics],
    minimum_accuracy: float,
) -> float:
    """The model's accuracy on images that it has not seen; fails below a minimum."""
    accuracy, rows = evaluate_model(test_data.path, model.path, minimum_accuracy)
    confusion.log_confusion_matrix([str(digit) for digit in range(10)], rows)
    return accuracy


@dsl.component(base_image=PYTORCH["base_image"], packages_to_install=["onnx", "onnxruntime"], additional_funcs=[convert_model])
def convert(test_data: dsl.Input[dsl.Dataset], model: dsl.Input[dsl.Model], onnx: dsl.Output[dsl.Model]):
    """The model as ONNX, which answers as the model does."""
    convert_model(test_data.path, model.path, onnx.path)
    onnx.metadata["format"] = "ONNX"


@dsl.component(base_image=PYTHON["base_image"], additional_funcs=[deploy_model])
def deploy(onnx: dsl.Input[dsl.Model], manifest: dsl.Output[dsl.Artifact]) -> str:
    """Has KServe serve the model, where there is a cluster with KServe; in any case its InferenceService."""
    return deploy_model(onnx.uri, manifest.path)


@dsl.pipeline(name="digits", description="Loads data, prepares them, trains on one or several workers, evaluates, converts to ONNX, deploys.")
def digits(
    epochs: int = 8,
    distribution_type: str = "PyTorch",
    number_of_workers: int = 2,
    minimum_accuracy: float = 0.9,
    cluster_configuration_secret: str = "",  # of another cluster to train in; empty: in that of the pipeline
):
    prepared = preprocess(data=load().outputs["data"])
    training = train(
        train_dataset_dir=prepared.outputs["train_data"],
        train_specification=SPECIFICATION,
        train_parameters={"train_dataset_dir": "train_dataset_dir", "model_dir": "model_dir", "epochs": epochs},
        distribution_specification={"distribution_type": distribution_type, "number_of_workers": number_of_workers},
        model_name="digits",
        cluster_configuration_secret=cluster_configuration_secret,
    )
    # Each run is to train: with equal inputs KFP would hand out an earlier run's model. Loading and preparing may be skipped.
    training.set_caching_options(False)
    model = training.outputs["model_dir"]
    evaluated = evaluate(test_data=prepared.outputs["test_data"], model=model, minimum_accuracy=minimum_accuracy)
    converted = convert(test_data=prepared.outputs["test_data"], model=model)
    # What is not good enough is not deployed.
    deploy(onnx=converted.outputs["onnx"]).after(evaluated).set_caching_options(False)


if __name__ == "__main__":
    compiler.Compiler().compile(digits, sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).with_suffix(".yaml")))
