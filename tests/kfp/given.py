# SPDX-License-Identifier: Apache-2.0
"""What the pipelines of pipelines_v1.py and pipelines_v2.py pass to component/component.yaml, and their other components. Both SDKs import it."""
import base64
import json
import pathlib

COMPONENT = pathlib.Path(__file__).resolve().parents[2] / "component/component.yaml"

_TRAIN = """
import os, sys
data, model, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3])
text = open(data + "/words.txt").read()
os.makedirs(model)
open(model + "/model.txt", "w").write(f"{epochs} epochs of {text}, rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}")
for epoch in range(1, epochs + 1):
    print(f"epoch={epoch}/{epochs} accuracy={1 - 0.5 / epoch}", flush=True)
"""
_ARGUMENTS = [{"inputPath": "train_dataset_dir"}, {"outputPath": "model_dir"}, {"inputValue": "epochs"}]
_EPOCHS = {"name": "epochs", "type": "Integer", "default": "2"}
TRAIN = json.dumps({"image": "none", "command": ["python3", "-c", _TRAIN, *_ARGUMENTS], "inputs": [_EPOCHS]})
FAIL = json.dumps({"image": "none", "command": ["python3", "-c", "print('step=1 loss=3'); raise SystemExit('out of luck')"]})
_WAIT = "import os, time; print(os.getpid(), file=open('began', 'w'), flush=True); time.sleep(1000)"
LONG = json.dumps({"image": "none", "command": ["python3", "-c", _WAIT]})
PRICE = json.dumps({"image": "none", "command": ["echo", "it costs $$5"]})
ENCODED = "base64:" + base64.b64encode(PRICE.encode()).decode()
BIND = {"train_dataset_dir": "train_dataset_dir", "model_dir": "model_dir", "epochs": 3}

# Every input but the data sets, which are outputs of another step.
EVERYTHING = {
    "train_specification": json.dumps(
        {
            "image": "registry.example/digits:1",
            "command": ["train", {"inputPath": "train"}, {"inputPath": "validation"}, {"outputPath": "model"}, {"inputValue": "epochs"}],
            "args": [{"inputValue": "rate"}, {"inputValue": "odd"}],
        }
    ),
    "train_parameters": {
        "train": "train_dataset_dir", "validation": "validation_dataset_dir", "model": "model_dir", "epochs": 3, "rate": 0.001,
        "odd": "\"quotes\" 'and' \\ $(HOME) é\nlines",
    },
    "train_mount": "/data",
    "model_name": "digits",
    "base_image": "registry.example/other:2",
    "node_selector": 'disk: "fast"\nzone: b',
    "pvc_name": "claim",
    "pvc_size": "20Gi",
    "cpus": "500m",
    "gpus": 2,
    "memory": "2Gi",
    "tensorboard_s3_address": "s3://logs/run",
    "cluster_configuration_secret": "remote",
    "distribution_specification": {"distribution_type": "PyTorch", "number_of_workers": 3},
    "job_options": {"environment": {"MODE": "fast"}, "run_policy": {"active_deadline": "90s"}},
}

PREPROCESS = """
name: Preprocess
outputs: [{name: data, type: Dataset}]
implementation:
  container:
    image: none
    command: [python3, -c, "import os, sys; os.makedirs(sys.argv[1]); open(sys.argv[1] + '/words.txt', 'w').write('some words')"]
    args: [{outputPath: data}]
"""
# MODEL_TYPE and RESULTS_TYPE: what an author wrote for a model and for a JSON object.
EVALUATE = """
name: Evaluate
inputs: [{name: model, type: MODEL_TYPE}, {name: job_name, type: String}, {name: results, type: RESULTS_TYPE}]
outputs: [{name: verdict, type: String}]
implementation:
  container:
    image: none
    command:
    - python3
    - -c
    - |
      import os, sys
      model, job_name, results, verdict = sys.argv[1:]
      os.makedirs(os.path.dirname(verdict), exist_ok=True)
      open(verdict, "w").write(open(model + "/model.txt").read() + f"; {job_name.partition('-')[0]}; {results}")
    args: [{inputPath: model}, {inputValue: job_name}, {inputValue: results}, {outputPath: verdict}]
"""


def evaluate(model="Model", results="JsonObject") -> str:
    return EVALUATE.replace("MODEL_TYPE", model).replace("RESULTS_TYPE", results)


def digits(samples: pathlib.Path) -> str:
    """A data step that writes the data set of the samples."""
    script = samples / "data/make_digits.py"
    return f"""
name: Digits
outputs: [{{name: data, type: Dataset}}]
implementation: {{container: {{image: none, command: [python-with-sklearn, {json.dumps(str(script))}], args: [{{outputPath: data}}]}}}}
"""
