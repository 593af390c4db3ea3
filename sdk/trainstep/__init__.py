# SPDX-License-Identifier: Apache-2.0
"""The training step of a pipeline, from Python.

    import trainstep

    def train(model_dir: trainstep.OutputPath, epochs: int = 3): ...

    result = trainstep.run(train, {"epochs": 5}, {"distribution_type": "PyTorch", "number_of_workers": 2})
    result.metrics, result.model_dir, result

All work is done by the `trainstep` program, which this package includes. Importing the package loads only this file:
each name is imported from its module on first use.
"""
from __future__ import annotations

TYPE_CHECKING = False  # type checkers treat it as True; importing typing would cost more than everything else
if TYPE_CHECKING:
    from typing import Any

    from ._jobs import Job, attach, list_jobs, logs, stop
    from ._program import program, version
    from ._result import Result
    from ._run import Run, run, submit
    from .errors import (
        CapacityError,
        InfrastructureError,
        InputError,
        LimitError,
        RunInterrupted,
        SpecificationError,
        StepCancelled,
        TrainingError,
        TrainstepError,
    )
    from .kfp_task import component, train_task
    from .specification import InputPath, OutputPath, train_specification
    from .training_client import TrainingClient

__all__ = [
    "CapacityError",
    "InfrastructureError",
    "InputError",
    "InputPath",
    "Job",
    "LimitError",
    "OutputPath",
    "Result",
    "Run",
    "RunInterrupted",
    "SpecificationError",
    "StepCancelled",
    "TrainingClient",
    "TrainingError",
    "TrainstepError",
    "attach",
    "component",
    "list_jobs",
    "logs",
    "program",
    "run",
    "stop",
    "submit",
    "train_specification",
    "train_task",
    "version",
]

_PLACES = {
    "_jobs": ("Job", "attach", "list_jobs", "logs", "stop"),
    "_program": ("program", "version"),
    "_result": ("Result",),
    "_run": ("Run", "run", "submit"),
    "errors": tuple(name for name in __all__ if name.endswith(("Error", "Interrupted", "Cancelled"))),
    "kfp_task": ("component", "train_task"),
    "specification": ("InputPath", "OutputPath", "train_specification"),
    "training_client": ("TrainingClient",),
}


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _PLACES.items():
        if name in names:
            value = getattr(importlib.import_module(f".{module}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
