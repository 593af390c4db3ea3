# SPDX-License-Identifier: Apache-2.0
"""A run's folder: it belongs to one run at a time."""
from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pathlib
import re
import socket
from typing import IO, Optional

from ._files import apart
from ._result import FILES
from .errors import InputError
from .inputs import Path

_STRANGE = re.compile(r"[^-._A-Za-z0-9]|^\.+")


def _lock(file: IO[bytes]) -> Optional[IO[bytes]]:
    """None: the file itself is the lock. Where the file system has none (ENOSYS, EOPNOTSUPP, ENOLCK), a socket's name in the kernel stands in for it, as
    in the program. BlockingIOError: another process has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        raise
    except OSError:
        status = os.fstat(file.fileno())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
        try:
            name.bind(f"\0trainstep/{status.st_dev:x}/{status.st_ino:x}")
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise BlockingIOError from None
        return os.fdopen(fcntl.fcntl(name, fcntl.F_DUPFD_CLOEXEC, 3), "rb", buffering=0)


class Folder:
    """One that is claimed, with the open log of the run and without what an earlier run left there.

    It is claimed until `give_back`, or, after `leave`, until the process that writes the log, and gets `descriptors`, ends. What comes while a run
    is at work changes nothing in it. InputError: another run is at work, or nothing can be
    written there.
    """

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path).resolve()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.log = apart((self.path / "log.jsonl").open("ab"))  # truncated when it is ours
        except OSError as problem:
            raise InputError(f"folder: nothing can be written to {self.path}: {problem.strerror}; give another one", 2) from None
        try:
            self._name = _lock(self.log)
        except BlockingIOError:
            self.log.close()
            raise InputError(f"folder: another run is at work in {self.path}; choose another folder or wait for its end", 2) from None
        try:
            self.log.truncate(0)
            for name in (*FILES.values(), "progress"):
                (self.path / name).unlink(missing_ok=True)
        except BaseException:
            self.give_back()
            raise

    @property
    def descriptors(self) -> list[int]:
        """Besides the log, of the lock."""
        return [self._name.fileno()] if self._name else []

    def leave(self) -> None:
        """To the process that writes the log."""
        self.log.close()
        if self._name:
            self._name.close()

    def give_back(self) -> None:
        """To whoever comes next, even where a copy of this interpreter has the log open; not so where a name stands in for the lock."""
        if not self.log.closed:
            with contextlib.suppress(OSError):
                fcntl.flock(self.log, fcntl.LOCK_UN)
            self.leave()


def new_path(name: str, unique: str) -> pathlib.Path:
    """One below trainstep-runs; what no name may have in it, as the program will say, leads to no other place."""
    return pathlib.Path("trainstep-runs", f"{_STRANGE.sub('-', name)[:100]}-{unique}")
