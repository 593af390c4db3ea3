# SPDX-License-Identifier: Apache-2.0
"""Commands for existing jobs of a cluster: list, attach, logs and stop."""
from __future__ import annotations

import dataclasses
import re
import secrets
from typing import Optional

from ._folder import Folder, new_path
from ._program import call, flags, program
from ._result import FILES, Result
from ._run import Run, followed, spawn
from .errors import InputError, error
from .inputs import Path, folder_path

_NAME = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,251}[A-Za-z0-9])?")  # a run's id, a job's or a replica's name


@dataclasses.dataclass(frozen=True)
class Job:
    """A row of `trainstep list`. since: creation time, RFC 3339 in UTC. run_id: "" if its label was removed."""

    run_id: str
    kind: str
    name: str
    state: str
    since: str


def _place(namespace: Optional[str], context: Optional[str]) -> list[str]:
    return flags([("namespace", namespace or ""), ("context", context or "")])


def list_jobs(*, namespace: Optional[str] = None, context: Optional[str] = None) -> list[Job]:
    """Lists the jobs created by steps in a namespace."""
    return jobs_of(call("list", *_place(namespace, context)))


def jobs_of(table: str) -> list[Job]:
    """Parses the table of `trainstep list`. Fields contain no blanks; a row with a different number of columns is an error.

    InfrastructureError: the table is not from this version of the program.
    """
    rows = [row.split() for row in table.split("\n") if row]
    for row in rows:
        if len(row) != len(dataclasses.fields(Job)):
            raise error(3, f"trainstep list: expected RUN, KIND, JOB, STATE and SINCE; got {' '.join(row)}")
    return [Job(*("" if word == "<none>" else word for word in row)) for row in rows[1:]]


def _name(what: str, value: str) -> str:
    """Checks a name passed to the program, which must not be empty or look like a flag. InputError: it is not a valid name."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InputError(f"{what}: expected a name, got {value!r}", 2)
    return value


def logs(run_id: str, replica: Optional[str] = None, *, namespace: Optional[str] = None, context: Optional[str] = None) -> str:
    """Returns the log of a replica ("worker-1"; default: the primary), following it to its end."""
    return call("logs", *_place(namespace, context), _name("run_id", run_id), *([_name("replica", replica)] if replica else []))


def stop(run_id: str, *, namespace: Optional[str] = None, context: Optional[str] = None) -> None:
    """Deletes a run's job, and returns when its pods are gone."""
    call("stop", *_place(namespace, context), _name("run_id", run_id))


def attach(
    run_id: str, *, namespace: Optional[str] = None, context: Optional[str] = None, folder: Optional[Path] = None, bar: bool = True
) -> Result:
    """Follows a run that was started earlier, here or elsewhere, to its end; the result has its metrics and report,
    but not its model, which the step itself downloads.

    KeyboardInterrupt only detaches. TrainstepError: the run did not succeed, or does not exist.
    """
    _name("run_id", run_id)
    place = folder_path(folder or new_path(f"attach-{run_id}", secrets.token_hex(4)))
    outputs = flags([(name, str(place / FILES[name])) for name in ("metrics", "report")])

    def start() -> tuple[Run, Folder]:
        process, ended, claimed = spawn([str(program()), "attach", *_place(namespace, context), *outputs, run_id], place, True)
        return Run(process, ended, run_id, place, place / "model"), claimed

    return followed(start, bar)
