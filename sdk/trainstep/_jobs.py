# SPDX-License-Identifier: Apache-2.0
"""Looking on at the jobs of a cluster: the program's list, attach, logs and stop."""
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
from .inputs import Path, path

_NAME = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,251}[A-Za-z0-9])?")  # a run's id, a job's or a replica's name


@dataclasses.dataclass(frozen=True)
class Job:
    """A row of `trainstep list`. since: when the job was created, in UTC as RFC 3339 writes it. run_id: "" where somebody has taken it away."""

    run_id: str
    kind: str
    name: str
    state: str
    since: str


def _place(namespace: Optional[str], context: Optional[str]) -> list[str]:
    return flags([("namespace", namespace or ""), ("context", context or "")])


def list_jobs(*, namespace: Optional[str] = None, context: Optional[str] = None) -> list[Job]:
    """The jobs that steps have made in a namespace."""
    return jobs_of(call("list", *_place(namespace, context)))


def jobs_of(table: str) -> list[Job]:
    """Its rows. No id, name, state or time has a blank in it; where a row does not have the header's columns, nobody can say which is which.

    InfrastructureError: the table is not the program's of this version.
    """
    rows = [row.split() for row in table.split("\n") if row]
    for row in rows:
        if len(row) != len(dataclasses.fields(Job)):
            raise error(3, f"trainstep list: expected RUN, KIND, JOB, STATE and SINCE; got {' '.join(row)}")
    return [Job(*("" if word == "<none>" else word for word in row)) for row in rows[1:]]


def _name(what: str, value: str) -> str:
    """What goes to the program must not be a flag, nor nothing at all: `stop("")` names no job. InputError: it is no name."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InputError(f"{what}: expected a name, got {value!r}", 2)
    return value


def logs(run_id: str, replica: Optional[str] = None, *, namespace: Optional[str] = None, context: Optional[str] = None) -> str:
    """The log of a run's replica ("worker-1"; default: the primary), to its end."""
    return call("logs", *_place(namespace, context), _name("run_id", run_id), *([_name("replica", replica)] if replica else []))


def stop(run_id: str, *, namespace: Optional[str] = None, context: Optional[str] = None) -> None:
    """Deletes a run's job, and returns when its pods are gone."""
    call("stop", *_place(namespace, context), _name("run_id", run_id))


def attach(
    run_id: str, *, namespace: Optional[str] = None, context: Optional[str] = None, folder: Optional[Path] = None, bar: bool = True
) -> Result:
    """Follows a run that was started earlier, here or elsewhere, to its end; the result has its metrics and report. The model is its step's to fetch.

    KeyboardInterrupt only looks away. TrainstepError: the run did not succeed, or is not there.
    """
    _name("run_id", run_id)
    place = path("folder", folder or new_path(f"attach-{run_id}", secrets.token_hex(4)))
    outputs = flags([(name, str(place / FILES[name])) for name in ("metrics", "report")])

    def start() -> tuple[Run, Folder]:
        process, ended, claimed = spawn([str(program()), "attach", *_place(namespace, context), *outputs, run_id], place, True)
        return Run(process, ended, run_id, place, place / "model"), claimed

    return followed(start, bar)
