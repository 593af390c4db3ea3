# SPDX-License-Identifier: Apache-2.0
"""Displays a running step: its log lines and, if tqdm is installed, a progress bar of its epochs."""
from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable
from typing import Any, Optional

_NAMED = re.compile(r"(?:^|[\s,;])([A-Za-z]\w*)\s*[=:]\s*([-+]?\d[\w.+-]*)")
_SHOWN = 4


class Display:
    """bar: if False, only lines are shown. Without tqdm there is no bar; the program logs its progress twice a minute.

    No method raises, even if standard output is closed, has a narrow encoding or is a notebook stream that raises: a display
    problem must not end the training. `where`: the path of the complete log, printed once to standard error in that case.
    """

    def __init__(self, bar: bool, where: str = "") -> None:
        self._wanted = bar
        self._where = where
        self._bar: Optional[Any] = None

    def line(self, source: str, message: str) -> None:
        text = f"[{source}] {message}" if source else message
        try:
            self._write(text)
        except Exception as problem:
            self._tell(problem)
            return
        metrics = {name: value for name, value in _NAMED.findall(message) if name not in ("epoch", "step")}
        if self._bar is not None and source != "trainstep" and metrics:
            self._of_bar(lambda bar: bar.set_postfix(dict(list(metrics.items())[:_SHOWN]), refresh=False))

    def progress(self, done: int, of: int) -> None:
        """Updates the bar: epochs completed, and their total."""
        if not self._wanted or of <= 0:
            return
        if self._bar is None:
            self._bar = _new_bar(of)
            self._wanted = self._bar is not None
        self._of_bar(lambda bar: _move(bar, done, of))

    def close(self) -> None:
        self._of_bar(lambda bar: bar.close())

    def _write(self, text: str) -> None:
        try:
            self._put(text)
        except UnicodeEncodeError:
            encoding = getattr(sys.stdout, "encoding", None) or "ascii"
            self._put(text.encode(encoding, "backslashreplace").decode(encoding))

    def _put(self, text: str) -> None:
        """Writes the line in one call, so that a failed write leaves no partial line."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stdout)
        else:
            print(f"{text}\n", end="", flush=True)

    def _of_bar(self, use: Callable[[Any], object]) -> None:
        """Calls `use` with the bar; if that fails, removes the bar and continues with lines only."""
        try:
            if self._bar is not None:
                use(self._bar)
        except Exception as problem:
            self._bar, self._wanted = None, False
            self._tell(problem)

    def _tell(self, problem: Exception) -> None:
        if not self._where:
            return
        where, self._where = self._where, ""
        with contextlib.suppress(Exception):
            print(f"trainstep: cannot display the log here ({type(problem).__name__}: {problem}); the training continues, its log is {where}", file=sys.stderr)


def _move(bar: Any, done: int, of: int) -> None:
    bar.total = of
    bar.update(done - bar.n)


def _new_bar(of: int) -> Optional[Any]:
    """Creates a tqdm bar. Returns None if tqdm is missing or does not work here."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets tqdm warns and shows a text bar
        try:
            from tqdm.auto import tqdm

            return tqdm(total=of, unit="epoch", desc="training", dynamic_ncols=True)
        except Exception:
            return None
