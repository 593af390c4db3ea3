# SPDX-License-Identifier: Apache-2.0
"""The result of a step."""
from __future__ import annotations

import dataclasses
import html
import json
import pathlib
from collections.abc import Mapping
from typing import Any, Optional

from ._interface import ANY
from .inputs import Path

# output of the program → its file in the run's folder
FILES = {"metrics": "metrics.json", "results": "results.json", "report": "report.html", "job_name_file": "job_name"}

_RUN = " · run "  # before the run's id at the report's head


@dataclasses.dataclass(frozen=True)
class Result:
    """A finished step's outputs. A notebook displays it as the report.

    run_id identifies it for `trainstep list`, `attach` and `stop`; folder contains all its files; model_dir is the model, a file or folder (None: the program
    wrote none, or it is at an address, which is in results); metrics: name → number; results: the values returned by the program, by name (numbers may be
    NaN or infinite at any depth, and an Optional value may be None); report: an HTML page (None: none was written).
    """

    run_id: str
    folder: pathlib.Path
    exit_code: int
    job_name: str
    model_dir: Optional[pathlib.Path]
    metrics: dict[str, float]
    results: dict[str, Any]
    report: Optional[pathlib.Path]

    def __hash__(self) -> int:
        return hash((self.run_id, self.folder))  # its dictionaries have none

    def _repr_html_(self) -> str:
        """Returns the report in an iframe, which isolates its styles from the notebook's."""
        if self.report is None:
            return f"<pre>{html.escape(repr(self))}</pre>"
        try:
            text = self.report.read_text(encoding="utf-8")
        except OSError as error:
            return f"<pre>{html.escape(repr(self))}\n{html.escape(f'The report cannot be read: {error}')}</pre>"
        if _RUN in text and f"{_RUN}{self.run_id}" not in text:
            return f"<pre>{html.escape(repr(self))}\n{html.escape(f'{self.report} is the report of a later run.')}</pre>"
        page = html.escape(text)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0" title="trainstep: {html.escape(self.job_name)}"></iframe>'


def read_result(run_id: str, folder: pathlib.Path, exit_code: int, model: Path, specification: str = "") -> Result:
    """Reads the result from the program's output files (FILES); a missing file is a missing output. `specification`: the one that was run;
    for a function it has the types of the returned values."""
    name, report, results = folder / FILES["job_name_file"], folder / FILES["report"], _object(folder / FILES["results"])
    here = isinstance(model, pathlib.Path) and str(model) in results.values()  # a model left by an earlier run is not this run's
    return Result(
        run_id=run_id,
        folder=folder,
        exit_code=exit_code,
        job_name=name.read_text(encoding="utf-8").strip() if name.exists() else "",
        model_dir=pathlib.Path(model) if here else None,
        metrics={name: value for name, value in _programs_object(folder / FILES["metrics"]).items() if isinstance(value, (int, float)) and not isinstance(value, bool)},
        results=_typed(results, _types(specification)),
        report=report if report.exists() else None,
    )


def _types(specification: str) -> dict[str, str]:
    """Returns output → type. Only JSON components are read, as generated for functions."""
    try:
        component = json.loads(specification)
        return {str(port["name"]): str(port.get("type", "")) for port in component["outputs"]}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def _typed(results: dict[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Decodes values without a declared type, which are returned as JSON text."""
    typed: dict[str, Any] = {}
    for name, value in results.items():
        kind = types.get(name)
        if kind == ANY and isinstance(value, str):
            value = json.loads(value)
            if value is None:
                continue
        typed[name] = value
    return typed


def _programs_object(path: pathlib.Path) -> dict[str, Any]:
    """Reads a file that the program itself may have written, with any contents: {} unless it is a JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _object(path: pathlib.Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    assert isinstance(value, dict), f"{path} is not a JSON object"
    return value
