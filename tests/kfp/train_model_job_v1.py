# SPDX-License-Identifier: Apache-2.0
"""Pipelines around component/train-model-job/component.yaml, written like published ones that call that component with the KFP SDK 1.8; only the
component's address differs. train_model_job_v1.py FOLDER compiles them. Run by that SDK's interpreter.
"""
import pathlib
import sys

import kfp
from kfp.components import InputPath, OutputPath, create_component_from_func

COMPONENT = pathlib.Path(__file__).resolve().parents[2] / "component/train-model-job/component.yaml"
train_model_comp = kfp.components.load_component_from_file(str(COMPONENT))


def load_dataset(path: OutputPath(str), labels_dir: OutputPath(str)):
    import os

    for folder, text in ((path, "a piece of music"), (labels_dir, "rock")):
        os.makedirs(folder)
        with open(os.path.join(folder, "part.txt"), "w") as file:
            file.write(text)


def preprocess_dataset(path: InputPath(str), train_dataset_dir: OutputPath(str), validation_dataset_dir: OutputPath(str)):
    import os

    with open(os.path.join(path, "part.txt")) as file:
        words = file.read().split()
    for folder, part in ((train_dataset_dir, words[:3]), (validation_dataset_dir, words[3:])):
        os.makedirs(folder)
        with open(os.path.join(folder, "part.txt"), "w") as file:
            file.write(" ".join(part))


def tensorboard_address() -> str:
    return "s3://mlpipeline/tensorboard/music"


def train_model(
    train_dataset_dir: InputPath(str), validation_dataset_dir: InputPath(str), model_dir: OutputPath(str), epochs: int = 100, batch_size: int = 32
):
    import os

    address = os.environ["TENSORBOARD_S3_ADDRESS"]
    rank, size = (int(os.environ.get(f"OMPI_COMM_WORLD_{name}", usual)) for name, usual in (("RANK", "0"), ("SIZE", "1")))
    parts = []
    for folder in (train_dataset_dir, validation_dataset_dir):
        with open(os.path.join(folder, "part.txt")) as file:
            parts.append(file.read())
    for epoch in range(1, epochs + 1):
        print(f"epoch={epoch}/{epochs} loss={1 / epoch:.3f}", flush=True)
    if rank == 0:
        os.makedirs(model_dir, exist_ok=True)
        with open(os.path.join(model_dir, "model.txt"), "w") as file:
            file.write(f"{size} workers, {epochs} epochs, batches of {batch_size}, logs in {address or 'no bucket'}: {', '.join(parts)}")


def evaluate_model(model_dir: InputPath(str), test_dataset_dir: InputPath(str)) -> str:
    import os

    with open(os.path.join(model_dir, "model.txt")) as model, open(os.path.join(test_dataset_dir, "part.txt")) as data:
        return f"{model.read()}; seen again: {data.read()}"


def plot_confusion_matrix(input_path: InputPath(str), model_path: InputPath(str), mlpipeline_ui_metadata_path: OutputPath(str)):
    import json
    import os

    with open(os.path.join(model_path, "model.txt")) as model, open(mlpipeline_ui_metadata_path, "w") as file:
        json.dump({"outputs": [{"type": "markdown", "storage": "inline", "source": model.read()}]}, file)


def convert_to_onnx(model_dir: InputPath(str), onnx_model_dir: OutputPath(str)):
    import os
    import shutil

    shutil.copytree(model_dir, onnx_model_dir)
    os.rename(os.path.join(onnx_model_dir, "model.txt"), os.path.join(onnx_model_dir, "model.onnx"))


def upload_model(input_dir: InputPath(str), model_name: str) -> str:
    import os

    return f"{model_name}: {', '.join(os.listdir(input_dir))}"


load_dataset_comp = create_component_from_func(load_dataset)
preprocess_comp = create_component_from_func(preprocess_dataset)
tensorboard_comp = create_component_from_func(tensorboard_address)
evaluate_comp = create_component_from_func(evaluate_model)
confusion_comp = create_component_from_func(plot_confusion_matrix)
onnx_comp = create_component_from_func(convert_to_onnx)
upload_comp = create_component_from_func(upload_model)

train_specification = kfp.components.func_to_component_text(func=train_model)

train_parameters = {
    "train_dataset_dir": "train_dataset_dir",
    "validation_dataset_dir": "validation_dataset_dir",
    "model_dir": "model_dir",
}


def music(
    model_name: str = "music", distribution_type: str = "MPI", number_of_workers: int = 2, training_gpus: int = 0, epochs: str = "3",
    training_node_selector: str = "", cluster_configuration_secret: str = "",
):
    """Data by position, the rest by name; what follows reads the model and the validation data."""
    loaded = load_dataset_comp()
    preprocessed = preprocess_comp(loaded.outputs["path"])
    training = train_model_comp(
        preprocessed.outputs["train_dataset_dir"],
        preprocessed.outputs["validation_dataset_dir"],
        train_specification=train_specification,
        train_parameters={**train_parameters, "epochs": epochs, "batch_size": "16"},
        model_name=model_name,
        gpus=training_gpus,
        node_selector=training_node_selector,
        tensorboard_s3_address=tensorboard_comp().output,
        cluster_configuration_secret=cluster_configuration_secret,
        distribution_specification={"distribution_type": distribution_type, "number_of_workers": number_of_workers},
    )
    evaluate_comp(training.outputs["model_dir"], preprocessed.outputs["validation_dataset_dir"])
    confusion_comp(preprocessed.outputs["validation_dataset_dir"], training.outputs["model_dir"])
    onnx = onnx_comp(training.outputs["model_dir"])
    upload_comp(onnx.output, model_name)


def monkeys(training_gpus: int = 1):
    """One worker, everything by name, a node that is named."""
    loaded = load_dataset_comp()
    training = train_model_comp(
        train_dataset_dir=loaded.outputs["path"],
        validation_dataset_dir=loaded.outputs["labels_dir"],
        train_specification=train_specification,
        train_parameters=train_parameters,
        model_name="monkeys",
        gpus=training_gpus,
        node_selector='nvidia.com/gpu.product: "Tesla-V100-SXM2-32GB"',
    )
    evaluate_comp(training.outputs["model_dir"], loaded.outputs["labels_dir"])


def horovod():
    """The article on distributed training: without a number, and with all that may be said of one."""
    loaded = load_dataset_comp()
    data = {"train_dataset_dir": loaded.outputs["path"], "validation_dataset_dir": loaded.outputs["labels_dir"]}
    train_model_comp(
        **data, train_specification=train_specification, train_parameters=train_parameters, distribution_specification={"distribution_type": "MPI"}
    )


def everything():
    loaded = load_dataset_comp()
    distribution_specification = {
        "distribution_type": "MPI", "number_of_workers": 2, "worker_cpus": "8", "worker_memory": "32Gi", "launcher_cpus": "2", "launcher_memory": "8Gi",
    }
    train_model_comp(
        loaded.outputs["path"], loaded.outputs["labels_dir"], train_specification, train_parameters, "/data", "all", "quay.io/me/horovod:1",
        "kubernetes.io/hostname: node2", "", "20Gi", "4", 2, "16Gi", "s3://logs/all", "", distribution_specification,
    )


def main(folder: pathlib.Path) -> None:
    for pipeline in (music, monkeys, horovod, everything):
        kfp.compiler.Compiler().compile(kfp.dsl.pipeline(name=pipeline.__name__)(pipeline), str(folder / f"{pipeline.__name__}.yaml"))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
