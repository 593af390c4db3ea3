# SPDX-License-Identifier: Apache-2.0
"""What a person sees of a running step: its lines as they come and, where tqdm is installed, a bar of its epochs."""
from __future__ import annotations

import re
import sys
from typing import Any, Optional

_NAMED = re.compile(r"(?:^|[\s,;])([A-Za-z]\w*)\s*[=:]\s*([-+]?\d[\w.+-]*)")
_SHOWN = 4


class Display:
    """bar: False shows lines only. Without tqdm there is no bar; the program itself tells the progress twice a minute, as a line."""

    def __init__(self, bar: bool) -> None:
        self._wanted = bar
        self._bar: Optional[Any] = None

    def line(self, source: str, message: str) -> None:
        text = f"[{source}] {message}" if source else message
        if self._bar is None:
            print(text, flush=True)
            return
        self._bar.write(text, file=sys.stdout)
        metrics = {name: value for name, value in _NAMED.findall(message) if name not in ("epoch", "step")}
        if source != "trainstep" and metrics:
            self._bar.set_postfix(dict(list(metrics.items())[:_SHOWN]), refresh=False)

    def progress(self, done: int, of: int) -> None:
        """Epochs done, of all."""
        if not self._wanted or of <= 0:
            return
        if self._bar is None:
            self._bar = _new_bar(of)
            self._wanted = self._bar is not None
        if self._bar is not None:
            self._bar.total = of
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _new_bar(of: int) -> Optional[Any]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a notebook without ipywidgets it says so, and shows a bar of text
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return tqdm(total=of, unit="epoch", desc="training", dynamic_ncols=True)
