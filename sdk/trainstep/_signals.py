# SPDX-License-Identifier: Apache-2.0
"""Holds signals between the start of a process and the point from which an exception would stop it."""
from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Optional


class HeldSignals:
    """Context manager: signal handlers, such as the one that raises KeyboardInterrupt, run only when release() is called or the context is left.

    Python runs signal handlers only in the main thread; in other threads this does nothing.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._came: list[tuple[Any, int, Optional[FrameType]]] = []

    def __enter__(self) -> HeldSignals:
        if threading.current_thread() is not threading.main_thread():
            return self
        try:
            for number in signal.valid_signals():
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._note)
        except BaseException:
            self.let_go()
            raise
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]) -> None:
        self.let_go()

    def let_go(self) -> None:
        """Restores the handlers and runs them for the signals received meanwhile; their exceptions propagate."""
        for number, handler in list(self._handlers.items()):
            signal.signal(number, handler)
            del self._handlers[number]  # after restoring it: a restored handler may raise at any moment
        while self._came:
            handler, number, frame = self._came.pop(0)
            handler(number, frame)

    def _note(self, number: int, frame: Optional[FrameType]) -> None:
        handler = self._handlers.get(number)
        if handler is not None and all(number != other for _, other, _ in self._came):
            self._came.append((handler, number, frame))
