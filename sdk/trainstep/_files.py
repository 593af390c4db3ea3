# SPDX-License-Identifier: Apache-2.0
"""Files passed to the program as inherited descriptors."""
from __future__ import annotations

import fcntl
import os
import weakref
from typing import IO, Optional

from .errors import InfrastructureError


def apart(file: IO[bytes]) -> IO[bytes]:
    """Moves the file to a descriptor above 2: if a standard stream is closed, the file would get its descriptor and receive printed text."""
    if file.fileno() > 2:
        return file
    with file:
        return os.fdopen(fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3), str(file.mode))


class ExitCode:
    """A program's exit code, written by the program itself: subprocess returns 0 if SIGCHLD is ignored or other code has waited for the child."""

    def __init__(self) -> None:
        self._file = apart(os.fdopen(os.memfd_create("trainstep-exit-code"), "w+b"))
        weakref.finalize(self, self._file.close)  # stays readable for the lifetime of this object

    @property
    def descriptor(self) -> int:
        """The descriptor that the program must inherit."""
        return self._file.fileno()

    @property
    def flag(self) -> str:
        return f"--exit-code-file=/proc/self/fd/{self.descriptor}"

    def of(self, waited: Optional[int]) -> Optional[int]:
        """Returns the exit code; None if the program is still running. `waited`: as returned by subprocess, trusted unless it is 0.

        InfrastructureError: unknown, for example after a SIGKILL."""
        if waited != 0:
            return waited
        self._file.seek(0)
        said = self._file.read().strip()
        if not said:
            raise InfrastructureError("trainstep ended without reporting an exit code: it was killed, and its log has no details", 3)
        return int(said)
