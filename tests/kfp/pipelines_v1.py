# SPDX-License-Identifier: Apache-2.0
"""Compiles pipelines around component/component.yaml with the KFP SDK 1.8: pipelines_v1.py FOLDER. Run by that SDK's interpreter."""
import pathlib
import sys

import given
import kfp
from kfp.components import load_component_from_file, load_component_from_text

train = load_component_from_file(str(given.COMPONENT))
preprocess = load_component_from_text(given.PREPROCESS)
evaluate = load_component_from_text(given.evaluate())
evaluate_texts = load_component_from_text(given.evaluate(model="String", results="String"))


def nothing():
    train()


def everything():
    train(train_dataset_dir=preprocess().output, validation_dataset_dir=preprocess().output, **given.EVERYTHING)


def published(epochs: str = "3", workers: str = "2", kind: str = "PyTorch", gpus: int = 0):
    """As in published notebooks: data sets by position, numbers from the pipeline's parameters, in texts and in dictionaries."""
    task = train(
        preprocess().output, preprocess().output, given.TRAIN, {**given.BIND, "epochs": epochs}, gpus=gpus, node_selector="",
        cluster_configuration_secret="", distribution_specification={"distribution_type": kind, "number_of_workers": workers},
    )
    evaluate(task.outputs["model_dir"], task.outputs["job_name"], task.outputs["results"])


def ignored_types():
    """An evaluation whose author wrote String for everything."""
    task = train(
        preprocess().output, train_specification=given.TRAIN, train_parameters=given.BIND, distribution_specification={"distribution_type": "PyTorch"}
    )
    evaluate_texts(task.outputs["model_dir"].ignore_type(), task.outputs["job_name"], task.outputs["results"].ignore_type())


def typed_text():
    task = train(train_specification=given.TRAIN)
    evaluate_texts(task.outputs["model_dir"], task.outputs["job_name"], task.outputs["results"])


def encoded():
    train(train_specification=given.ENCODED)


def failing():
    train(train_specification=given.FAIL)


def sample():
    train(preprocess_digits().output, train_specification=SPECIFICATION, train_parameters={"model_dir": "model_dir", "epochs": 1})


SAMPLES = given.COMPONENT.parents[1] / "samples"
SPECIFICATION = (SAMPLES / "job/train_specification.v1.yaml").read_text(encoding="utf-8")
preprocess_digits = load_component_from_text(given.digits(SAMPLES))


def main(folder: pathlib.Path) -> None:
    for pipeline in (nothing, everything, published, ignored_types, failing, encoded, sample):
        kfp.compiler.Compiler().compile(kfp.dsl.pipeline(name=pipeline.__name__)(pipeline), str(folder / f"{pipeline.__name__}.yaml"))
    try:
        kfp.compiler.Compiler().compile(kfp.dsl.pipeline(name="typed")(typed_text), str(folder / "typed.yaml"))
    except kfp.dsl.types.InconsistentTypeException as error:
        (folder / "typed_text.txt").write_text(str(error), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
