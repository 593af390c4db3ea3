# SPDX-License-Identifier: Apache-2.0
"""Exceptions, one class for each exit code of the program. The message is the program's own."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._result import Result


class TrainstepError(Exception):
    """The step did not succeed.

    exit_code: the program's (README, "Exit codes"). result: the available outputs, such as the report; None if nothing was started.
    """

    def __init__(self, message: str, exit_code: int, result: Optional[Result] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.result = result

    def __reduce__(self) -> tuple[type[TrainstepError], tuple[str, int, Optional[Result]]]:
        """Supports pickling with all arguments, for process pools."""
        return type(self), (str(self), self.exit_code, self.result)


class SpecificationError(ValueError):
    """A function that cannot be used as a training program; the message says why and what to do about it."""


class TrainingError(TrainstepError):
    """1: the training program failed; the message ends with its last lines."""


class InputError(TrainstepError):
    """2: invalid usage, input or configuration; nothing was trained."""


class InfrastructureError(TrainstepError):
    """3: infrastructure failure, internal error, or unknown outcome."""


class LimitError(TrainstepError):
    """4: a time limit was exceeded."""


class CapacityError(TrainstepError):
    """5: no capacity: evicted, preempted, node lost."""


class RunInterrupted(TrainstepError):
    """75: this step was interrupted, its job keeps running; `attach` follows it."""


class StepCancelled(TrainstepError):
    """129, 130, 143: cancelled."""


_CLASSES: dict[int, type[TrainstepError]] = {
    1: TrainingError,
    2: InputError,
    4: LimitError,
    5: CapacityError,
    75: RunInterrupted,
    129: StepCancelled,
    130: StepCancelled,
    143: StepCancelled,
}


def error(exit_code: int, message: str, result: Optional[Result] = None) -> TrainstepError:
    """Returns the exception for a non-zero exit code; a negative one (killed by a signal) is an InfrastructureError."""
    message = message or f"trainstep ended with exit code {exit_code} without a message"
    return _CLASSES.get(exit_code, InfrastructureError)(message, exit_code, result)
