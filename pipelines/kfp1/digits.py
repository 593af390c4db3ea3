# SPDX-License-Identifier: Apache-2.0
"""Loads data, prepares them, trains on one or several workers, evaluates, converts to ONNX, deploys: a pipeline for the Kubeflow Pipelines SDK 1.8.

digits.py [FILE] compiles it.
"""
import inspect
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "pipelines"), str(ROOT / "samples/data")]

import kfp  # noqa: E402
from kfp.components import InputPath, OutputPath, func_to_component_text, load_component_from_text  # noqa: E402
from kubernetes import client  # noqa: E402
from make_digits import make_digits  # noqa: E402
from steps import convert_model, deploy_model, evaluate_model, split_digits, upload_model  # noqa: E402

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


def convert(test_data_path: InputPath("Dataset"), model_path: InputPath("Model"), onnx_path: OutputPath("Model")):
    """The model as ONNX, which answers as the model does."""
    convert_model(test_data_path, model_path, onnx_path)


def upload(onnx_path: InputPath("Model"), address: str, endpoint: str) -> str:
    """Puts the model where KServe finds it: artifacts have no addresses in this SDK."""
    return upload_model(onnx_path, address, endpoint)


def deploy(address: str, manifest_path: OutputPath()) -> str:
    """Has KServe serve the model, where there is a cluster with KServe; in any case its InferenceService."""
    return deploy_model(address, manifest_path)


def component(function, helper, image):
    """A function and the plain one that it calls, as a component."""
    return load_component_from_text(func_to_component_text(function, extra_code=inspect.getsource(helper), **image))


load_component = component(load, make_digits, PYTHON)
preprocess_component = component(preprocess, split_digits, PYTHON)
evaluate_component = component(evaluate, evaluate_model, PYTORCH)
convert_component = component(convert, convert_model, {**PYTORCH, "packages_to_install": ["onnx", "onnxruntime"]})
upload_component = component(upload, upload_model, {"base_image": "python:3.11", "packages_to_install": ["minio"]})
deploy_component = component(deploy, deploy_model, {"base_image": "python:3.11"})
# As text: of a file, the SDK would write its path into what it compiles.
train = load_component_from_text((ROOT / "component/component.yaml").read_text(encoding="utf-8"))


def tell_the_pod(task):
    """Its name and its node's id, by the downward API: a host name ends after 63 characters."""
    for name, path in {"POD_NAME": "metadata.name", "WORKFLOW_NODE_ID": "metadata.annotations['workflows.argoproj.io/node-id']"}.items():
        source = client.V1EnvVarSource(field_ref=client.V1ObjectFieldSelector(field_path=path))
        task.container.add_env_variable(client.V1EnvVar(name=name, value_from=source))


def give_keys(task):
    """Those that Kubeflow Pipelines has for its store."""
    for name, key in {"AWS_ACCESS_KEY_ID": "accesskey", "AWS_SECRET_ACCESS_KEY": "secretkey"}.items():
        source = client.V1EnvVarSource(secret_key_ref=client.V1SecretKeySelector(name="mlpipeline-minio-artifact", key=key))
        task.container.add_env_variable(client.V1EnvVar(name=name, value_from=source))


@kfp.dsl.pipeline(name="digits", description="Loads data, prepares them, trains on one or several workers, evaluates, converts to ONNX, deploys.")
def digits(
    epochs: int = 8,
    distribution_type: str = "PyTorch",
    number_of_workers: int = 2,
    minimum_accuracy: float = 0.9,
    cluster_configuration_secret: str = "training-bucket",
    models: str = "s3://mlpipeline/models",
    s3_endpoint: str = "http://minio-service.kubeflow:9000",
):
    prepared = preprocess_component(load_component().outputs["data"])
    training = train(
        prepared.outputs["train_data"],
        train_specification=SPECIFICATION,
        train_parameters={"train_dataset_dir": "train_dataset_dir", "model_dir": "model_dir", "epochs": epochs},
        distribution_specification={"distribution_type": distribution_type, "number_of_workers": number_of_workers},
        model_name="digits",
        # The bucket over which the data reach the training pods (component/kubernetes/secrets/bucket.yaml): artifacts have no addresses in this SDK.
        cluster_configuration_secret=cluster_configuration_secret,
    )
    tell_the_pod(training)
    # Each run is to train: with equal inputs KFP would hand out an earlier run's model. Loading and preparing may be skipped.
    training.execution_options.caching_strategy.max_cache_staleness = "P0D"
    evaluated = evaluate_component(prepared.outputs["test_data"], training.outputs["model_dir"], minimum_accuracy)
    converted = convert_component(prepared.outputs["test_data"], training.outputs["model_dir"])
    # What is not good enough is not deployed.
    uploaded = upload_component(converted.output, f"{models}/{training.outputs['job_name']}", s3_endpoint).after(evaluated)
    give_keys(uploaded)
    deploy_component(uploaded.output).execution_options.caching_strategy.max_cache_staleness = "P0D"


if __name__ == "__main__":
    kfp.compiler.Compiler().compile(digits, sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).with_suffix(".yaml")))
