# SPDX-License-Identifier: Apache-2.0
"""Files that are for a program that is started here, under descriptors that are its own."""
from __future__ import annotations

import fcntl
import os
import weakref
from typing import IO, Optional

from .errors import InfrastructureError


def apart(file: IO[bytes]) -> IO[bytes]:
    """Not under the number of a standard stream that this interpreter has closed: what is printed would go into the file."""
    if file.fileno() > 2:
        return file
    with file:
        return os.fdopen(fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3), str(file.mode))


class ExitCode:
    """Of a program, as it writes it down itself. subprocess says 0 where this interpreter ignores SIGCHLD, or somebody in it waits for all children."""

    def __init__(self) -> None:
        self._file = apart(os.fdopen(os.memfd_create("trainstep-exit-code"), "w+b"))
        weakref.finalize(self, self._file.close)  # it may be asked for as long as it is there

    @property
    def descriptor(self) -> int:
        """It must be passed on to the program."""
        return self._file.fileno()

    @property
    def flag(self) -> str:
        return f"--exit-code-file=/proc/self/fd/{self.descriptor}"

    def of(self, waited: Optional[int]) -> Optional[int]:
        """What subprocess says, if it can be right. None: the program runs. InfrastructureError: nobody knows, as after a SIGKILL."""
        if waited != 0:
            return waited
        self._file.seek(0)
        said = self._file.read().strip()
        if not said:
            raise InfrastructureError("trainstep ended without an exit code: it was killed, and its log has no details", 3)
        return int(said)
