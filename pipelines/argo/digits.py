# SPDX-License-Identifier: Apache-2.0
"""Writes the pipeline as Workflows for Argo, without Kubeflow: digits.py FILE CLUSTER_FILE. The first calls the WorkflowTemplate trainstep of its
namespace, the second the ClusterWorkflowTemplate.

Prepared data lie in a bucket, where the training pods fetch them by address; the model comes back as an artifact of the step.
"""
import inspect
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "pipelines"), str(ROOT / "samples/data")]

from make_digits import make_digits  # noqa: E402
from steps import convert_model, deploy_model, evaluate_model, split_digits  # noqa: E402

PYTORCH = "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime"
SPECIFICATION = ROOT / "samples/pytorch/train_specification.v1.yaml"

FLOW = """\
# Made by pipelines/make_pipelines.py from pipelines/argo/digits.py.
# SPDX-License-Identifier: Apache-2.0
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: digits-
  annotations:
    workflows.argoproj.io/description: Loads data, prepares them, trains on one or several workers, evaluates, converts to ONNX, deploys.
spec:
  entrypoint: digits
  serviceAccountName: trainstep
  arguments:
    parameters:
    - {name: epochs, value: "8"}
    - {name: distribution_type, value: PyTorch}
    - {name: number_of_workers, value: "2"}
    - {name: minimum_accuracy, value: "0.9"}
    - {name: bucket, value: "minio://mlpipeline", description: The bucket of Argo's artifacts as the training pods find it.}
    - {name: cluster_configuration_secret, value: training-bucket, description: The bucket over which the model comes back.}
  templates:
  - name: digits
    dag:
      tasks:
      - {name: load, template: load}
      - name: preprocess
        depends: load
        template: preprocess
        arguments: {artifacts: [{name: data, from: "{{tasks.load.outputs.artifacts.data}}"}]}
      - name: train
        depends: preprocess
        templateRef: {name: trainstep, template: train@CLUSTER_SCOPE@}
        arguments:
          parameters:
          - {name: model_name, value: digits}
          - {name: train_dataset_dir, value: "{{workflow.parameters.bucket}}/digits/{{workflow.uid}}/train"}
          - name: train_parameters
            value: '{"train_dataset_dir": "train_dataset_dir", "model_dir": "model_dir", "epochs": {{workflow.parameters.epochs}}}'
          - name: distribution_specification
            value: '{"distribution_type": "{{workflow.parameters.distribution_type}}", "number_of_workers": {{workflow.parameters.number_of_workers}}}'
          - {name: cluster_configuration_secret, value: "{{workflow.parameters.cluster_configuration_secret}}"}
          - name: train_specification
            value: |
@SPECIFICATION@
      - name: evaluate
        depends: preprocess && train
        template: evaluate
        arguments:
          artifacts:
          - {name: test, from: "{{tasks.preprocess.outputs.artifacts.test}}"}
          - {name: model, from: "{{tasks.train.outputs.artifacts.model_dir}}"}
      - name: convert
        depends: preprocess && train
        template: convert
        arguments:
          artifacts:
          - {name: test, from: "{{tasks.preprocess.outputs.artifacts.test}}"}
          - {name: model, from: "{{tasks.train.outputs.artifacts.model_dir}}"}
      - {name: deploy, depends: convert && evaluate, template: deploy}  # what is not good enough is not deployed

  - name: load
    outputs: {artifacts: [{name: data, path: /tmp/outputs/data}]}
    container:
      image: "python:3.11"
      command: [sh, -ec, 'python3 -m pip install --quiet scikit-learn; exec python3 -c "$0" "$@"']
      args:
      - |
@LOAD@
      - /tmp/outputs/data

  - name: preprocess
    inputs: {artifacts: [{name: data, path: /inputs/data}]}
    outputs:
      artifacts:
      - name: train  # as files below an address, for the training pods
        path: /tmp/outputs/train
        archive: {none: {}}
        s3: {key: "digits/{{workflow.uid}}/train"}
      - {name: test, path: /tmp/outputs/test}
    container:
      image: "python:3.11"
      command: [sh, -ec, 'python3 -m pip install --quiet scikit-learn; exec python3 -c "$0" "$@"']
      args:
      - |
@PREPROCESS@
      - /inputs/data
      - /tmp/outputs/train
      - /tmp/outputs/test

  - name: evaluate
    inputs: {artifacts: [{name: test, path: /inputs/test}, {name: model, path: /inputs/model}]}
    outputs: {parameters: [{name: accuracy, valueFrom: {path: /tmp/accuracy}}]}
    container:
      image: "@PYTORCH@"
      command: [python3, -c]
      args:
      - |
@EVALUATE@
      - /inputs/test
      - /inputs/model
      - "{{workflow.parameters.minimum_accuracy}}"

  - name: convert
    inputs: {artifacts: [{name: test, path: /inputs/test}, {name: model, path: /inputs/model}]}
    outputs:
      artifacts:
      - name: onnx  # as files below an address, for KServe
        path: /tmp/outputs/onnx
        archive: {none: {}}
        s3: {key: "digits/{{workflow.uid}}/onnx"}
    container:
      image: "@PYTORCH@"
      command: [sh, -ec, 'python3 -m pip install --quiet onnx onnxruntime; exec python3 -c "$0" "$@"']
      args:
      - |
@CONVERT@
      - /inputs/test
      - /inputs/model
      - /tmp/outputs/onnx

  - name: deploy
    outputs:
      parameters: [{name: outcome, valueFrom: {path: /tmp/outcome}}]
      artifacts: [{name: manifest, path: /tmp/inferenceservice.json}]
    container:
      image: "python:3.11"
      command: [python3, -c]
      args:
      - |
@DEPLOY@
      - "{{workflow.parameters.bucket}}/digits/{{workflow.uid}}/onnx"
      - /tmp/inferenceservice.json
"""


def calling(function, call: str) -> str:
    """A program out of a function's source and its call."""
    return f"import sys\n\n\n{inspect.getsource(function)}\n\n{call}\n"


def flow(cluster_scope: bool) -> str:
    parts = {
        "SPECIFICATION": (14, SPECIFICATION.read_text(encoding="utf-8")),
        "LOAD": (8, calling(make_digits, "make_digits(*sys.argv[1:])")),
        "PREPROCESS": (8, calling(split_digits, "split_digits(*sys.argv[1:])")),
        "EVALUATE": (8, calling(evaluate_model, 'print(evaluate_model(*sys.argv[1:])[0], file=open("/tmp/accuracy", "w"))')),
        "CONVERT": (8, calling(convert_model, "convert_model(*sys.argv[1:])")),
        "DEPLOY": (8, calling(deploy_model, 'print(deploy_model(*sys.argv[1:]), file=open("/tmp/outcome", "w"))')),
    }
    text = FLOW.replace("@CLUSTER_SCOPE@", ", clusterScope: true" if cluster_scope else "").replace("@PYTORCH@", PYTORCH)
    for name, (width, part) in parts.items():
        assert "{{" not in part, f"{name} holds a tag of Argo's"
        text = text.replace(f"@{name}@\n", textwrap.indent(part, " " * width))
    return text


if __name__ == "__main__":
    for path, cluster_scope in zip(sys.argv[1:], (False, True), strict=True):
        pathlib.Path(path).write_text(flow(cluster_scope), encoding="utf-8")
