# SPDX-License-Identifier: Apache-2.0
"""What may go wrong, one class for each exit code of the program. The message is the program's own."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._result import Result


class TrainstepError(Exception):
    """The step did not succeed.

    exit_code: the program's (README, "Exit codes"). result: what there is nevertheless, such as the report; None if nothing was started.
    """

    def __init__(self, message: str, exit_code: int, result: Optional[Result] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.result = result

    def __reduce__(self) -> tuple[type[TrainstepError], tuple[str, int, Optional[Result]]]:
        """As it was made: pools of processes hand exceptions on."""
        return type(self), (str(self), self.exit_code, self.result)


class SpecificationError(ValueError):
    """A function that cannot be a training program: the message says why, and what to do about it."""


class TrainingError(TrainstepError):
    """1: the training program failed; the message ends with its last lines."""


class InputError(TrainstepError):
    """2: usage, input or configuration is wrong; nothing was trained."""


class InfrastructureError(TrainstepError):
    """3: infrastructure, a defect, or an end that cannot be known."""


class LimitError(TrainstepError):
    """4: a limit that you set has passed."""


class CapacityError(TrainstepError):
    """5: no capacity: evicted, preempted, node lost."""


class RunInterrupted(TrainstepError):
    """75: this step was interrupted, its job runs on; `attach` follows it."""


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
    """The error of an exit code that is not 0; a program that a signal ended (a negative code) is infrastructure."""
    message = message or f"trainstep ended with exit code {exit_code} without a message"
    return _CLASSES.get(exit_code, InfrastructureError)(message, exit_code, result)
