# SPDX-License-Identifier: Apache-2.0
"""What the Python package generates with the KFP SDK that runs this, 1.8 or 2: sdk_pipelines.py FOLDER. The package is in PYTHONPATH.

Specifications of one function, by the package and by the SDK, and pipelines with `train_task`; they contain $(HOME) and $$, which must not be expanded.
"""
import json
import pathlib
import sys
from typing import NamedTuple

import given
import kfp
import trainstep
from kfp import compiler, dsl
from kfp.components import load_component_from_text

SDK = 2 if kfp.__version__.startswith("2") else 1
if SDK == 2:
    from kfp.dsl import InputPath, OutputPath
else:
    from kfp.components import InputPath, OutputPath, create_component_from_func, func_to_component_text

FOLDER = pathlib.Path(sys.argv[1])


def train(
    train_dataset_dir: InputPath("Dataset"), model_dir: OutputPath("Model"), epochs: int = 3, rate: float = 0.5, shuffle: bool = True, more: dict = {"a": 1},
    names: list = ["x"], text: str = "some",
) -> NamedTuple("Outputs", [("accuracy", float), ("words", list)]):
    """Trains."""
    import os

    os.makedirs(model_dir)
    for epoch in range(1, epochs + 1):
        print(f"epoch={epoch}/{epochs} accuracy={1 - rate / epoch}", flush=True)
    with open(os.path.join(train_dataset_dir, "words.txt")) as data, open(os.path.join(model_dir, "model.txt"), "w") as model:
        model.write(f"{epochs} epochs of {data.read()}, rank {os.environ.get('RANK', 0)} of {os.environ.get('WORLD_SIZE', 1)} for $$5 in $(HOME)")
    return (1 - rate / epochs, [shuffle, more, names, text])


@dsl.pipeline(name="chain")
def chain(epochs: int = 3):
    task = trainstep.train_task(
        train, {"epochs": epochs}, {"distribution_type": "PyTorch", "number_of_workers": 2}, image="registry.example/trainstep:9", retries=2,
        train_dataset_dir=load_component_from_text(given.PREPROCESS)().output, cpus=2, gpus="0", node_selector={"disk": "fast"}, memory=None,
    )
    evaluate = load_component_from_text(given.evaluate())
    evaluate(model=task.outputs["model_dir"], job_name=task.outputs["job_name"], results=task.outputs["results"])


@dsl.pipeline(name="cached")
def cached():
    trainstep.train_task({"image": "none", "command": ["true"]}, caching=True)


def exact(whole: int, number: float, best: float, text: str) -> str:
    return repr((whole, number, best, text))


@dsl.pipeline(name="numbers")
def numbers():
    trainstep.train_task(exact, {"whole": 2**53 + 1, "number": 0.1 + 0.2, "best": float("-inf"), "text": "x"})


# Whole numbers that are no doubles, or whose shortest text is that of others, and what a dictionary of the SDK 2 cannot have.
STRANGE = {
    "train_parameters": {"more": {"seeds": [2**53 + 1]}},
    "distribution_specification": {"number_of_workers": 2**60},
    "job_options": {"environment": {"A": float("nan")}},
    "cpus": b"1",
    "gpus": "two",
    "node_selector": {1: "a"},
}


def refusals():
    """Why `train_task` does not take what is strange, each by itself; None where it does."""
    for name, value in STRANGE.items():

        def strange():
            trainstep.train_task({"image": "none", "command": ["true"]}, **{name: value})

        try:
            compiler.Compiler().compile(dsl.pipeline(name="strange")(strange), str(FOLDER / "strange.yaml"))
            yield name, None
        except trainstep.InputError as refused:
            yield name, str(refused)


compiler.Compiler().compile(numbers, str(FOLDER / "numbers.yaml"))
(FOLDER / "refusals").write_text(json.dumps(dict(refusals())))
compiler.Compiler().compile(chain, str(FOLDER / "chain.yaml"))
compiler.Compiler().compile(cached, str(FOLDER / "cached.yaml"))
(FOLDER / "ours").write_text(trainstep.train_specification(train, base_image="python:3.11"))
if SDK == 1:
    (FOLDER / "theirs").write_text(func_to_component_text(train, base_image="python:3.11"))
    (FOLDER / "component").write_text(trainstep.train_specification(create_component_from_func(train, base_image="python:3.11")))
    try:
        trainstep.component(task_config=True)
    except ValueError as refused:
        (FOLDER / "refused").write_text(str(refused))
else:
    compiler.Compiler().compile(dsl.component(train, base_image="python:3.11"), str(FOLDER / "theirs.yaml"))
    (FOLDER / "theirs.yaml").rename(FOLDER / "theirs")
    (FOLDER / "component").write_text(trainstep.train_specification(dsl.component(train, base_image="python:3.11")))

    def with_artifacts(train_dataset_dir: dsl.Input[dsl.Dataset], model_dir: dsl.Output[dsl.Model], metrics: dsl.Output[dsl.Metrics], epochs: int = 3):
        import os

        os.makedirs(model_dir.path)
        open(os.path.join(model_dir.path, "model.txt"), "w").write(open(os.path.join(train_dataset_dir.path, "words.txt")).read())
        metrics.log_metric("epochs", epochs)

    (FOLDER / "artifacts").write_text(trainstep.train_specification(with_artifacts))

    def with_seed(data: dsl.Input[dsl.Dataset], seed: int = 2**53 + 1):
        pass

    try:
        trainstep.train_specification(with_seed)
    except trainstep.SpecificationError as refused:
        (FOLDER / "seed").write_text(str(refused))

    @dsl.pipeline
    def settings():
        from kfp import kubernetes

        task = trainstep.train_task({"image": "none", "command": ["true"]}, task_config=True)
        task.set_cpu_limit("8").set_memory_limit("2G").set_accelerator_type("nvidia.com/gpu").set_accelerator_limit(1).set_env_variable("MODE", "fast")
        kubernetes.add_node_selector(task, "disk", "fast")

    compiler.Compiler().compile(settings, str(FOLDER / "settings.yaml"))
