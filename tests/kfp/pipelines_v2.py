# SPDX-License-Identifier: Apache-2.0
"""Compiles pipelines around component/component.yaml with the KFP SDK 2: pipelines_v2.py FOLDER. Run by that SDK's interpreter."""
import pathlib
import sys

import given
from kfp import compiler, dsl
from kfp.components import load_component_from_file, load_component_from_text

train = load_component_from_file(str(given.COMPONENT))
preprocess = load_component_from_text(given.PREPROCESS)
evaluate = load_component_from_text(given.evaluate())


@dsl.pipeline
def nothing():
    train()


@dsl.pipeline
def everything():
    data = preprocess().output
    train(train_dataset_dir=data, validation_dataset_dir=data, **given.EVERYTHING)


@dsl.pipeline
def chain():
    task = train(
        train_dataset_dir=preprocess().output, train_specification=given.TRAIN, train_parameters=given.BIND,
        distribution_specification={"distribution_type": "PyTorch", "number_of_workers": 2},
    )
    task.set_caching_options(False)
    evaluate(model=task.outputs["model_dir"], job_name=task.outputs["job_name"], results=task.outputs["results"])


@dsl.pipeline
def published(epochs: str = "3", workers: int = 2, kind: str = "PyTorch"):
    """As in published notebooks: numbers from the pipeline's parameters, inside dictionaries."""
    task = train(
        train_dataset_dir=preprocess().output, train_specification=given.TRAIN, train_parameters={**given.BIND, "epochs": epochs},
        distribution_specification={"distribution_type": kind, "number_of_workers": workers},
    )
    evaluate(model=task.outputs["model_dir"], job_name=task.outputs["job_name"], results=task.outputs["results"])


@dsl.pipeline
def encoded():
    train(train_specification=given.ENCODED)


@dsl.pipeline
def failing():
    train(train_specification=given.FAIL)


@dsl.pipeline
def long():
    train(train_specification=given.LONG)


SAMPLES = given.COMPONENT.parents[1] / "samples"
SPECIFICATION = (SAMPLES / "job/train_specification.v2.yaml").read_text(encoding="utf-8")
preprocess_digits = load_component_from_text(given.digits(SAMPLES))


@dsl.pipeline
def sample():
    """A specification that holds {{$}} itself, as all do that the SDK writes of Python functions."""
    train(
        train_dataset_dir=preprocess_digits().output, train_specification=SPECIFICATION, train_parameters={"model_dir": "model_dir", "epochs": 1}
    )


def main(folder: pathlib.Path) -> None:
    for pipeline in (nothing, everything, chain, published, failing, encoded, long, sample):
        compiler.Compiler().compile(pipeline, str(folder / f"{pipeline.name}.yaml"))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
