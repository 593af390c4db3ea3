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
import stat
from collections.abc import Iterator
from typing import IO, Optional

from ._files import apart
from ._result import FILES
from .errors import InputError
from .inputs import Path

_LOG = "log.jsonl"
_OUTPUTS = (*FILES.values(), "progress")
_FILES = (_LOG, *_OUTPUTS)
_MARK = ".trainstep-folder"  # not the program's of its run-dir, which would then write over all that is there
_WORDS = f"This folder is used by runs of the Python package trainstep; the next run replaces {', '.join(_FILES)}.\n"
_EARLIER = ".trainstep-earlier"  # outputs of the run before, until this one has begun
# How a log begins of a run that the program has begun, and of a call that it has refused.
_BEGUN = re.compile(rb'\{"time":"[^"]*","source":"trainstep","level":"(?!error)|\[trainstep\] ')
_REFUSED = re.compile(rb'\{"time":"[^"]*","source":"trainstep","level":"error"|trainstep: |\Z')
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


def _is_file(path: pathlib.Path) -> bool:
    """Itself, not what a link leads to."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _head(log: IO[bytes]) -> bytes:
    return os.pread(log.fileno(), 200, 0)


def _names_of_runs(folder: pathlib.Path) -> tuple[str, ...]:
    """The files in it that an earlier run may have put there. A run of a release that left no mark is known by its log; a call that was refused has left
    nothing but its log."""
    if _is_file(folder / _MARK):
        return _FILES
    if not _is_file(folder / _LOG):
        return ()
    with (folder / _LOG).open("rb") as log:
        head = _head(log)
    return _FILES if _BEGUN.match(head) else (_LOG,) if _REFUSED.match(head) else ()


def _check(folder: pathlib.Path) -> None:
    """InputError: the run would write over what is somebody's."""
    own = _names_of_runs(folder)
    for name in _FILES:
        path = folder / name
        if os.path.lexists(path) and not (name in own and _is_file(path)):
            what = "is a folder" if path.is_dir() else "was not created by a run"
            raise InputError(f"folder: {path} {what}, and this run would replace it; choose another folder, or move it", 2)


class Folder:
    """One that is claimed, with the open log of the run and without what an earlier run left there.

    It is claimed until `give_back`, or, after `leave`, until the process that writes the log, and gets `descriptors`, ends. What comes while a run
    is at work changes nothing in it. InputError: another run is at work, nothing can be
    written there, or something has a name of the run's files and no run has put it there; nothing is touched then. What the earlier run left comes
    back when the program refuses the call before `give_back`.
    """

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path).resolve()
        with self._writable():
            self.path.mkdir(parents=True, exist_ok=True)
            _check(self.path)
            self.log = apart((self.path / _LOG).open("a+b"))  # truncated when it is ours
        try:
            self._name = _lock(self.log)
        except BlockingIOError:
            self.log.close()
            raise InputError(f"folder: another run is using {self.path}; choose another folder, or wait for it to finish", 2) from None
        self._new = False
        try:
            with self._writable():
                self._mark()
                self._set_aside()
                self.log.truncate(0)
        except BaseException:
            with contextlib.suppress(OSError):
                self._undo()
            self.give_back()
            raise

    @contextlib.contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise InputError(f"folder: cannot write to {self.path}: {problem.strerror}; choose another one", 2) from None

    def _mark(self) -> None:
        if not _is_file(self.path / _MARK):
            with (self.path / _MARK).open("x", encoding="utf-8") as file:
                self._new = True
                file.write(_WORDS)

    def _set_aside(self) -> None:
        """Until it is known that the run begins."""
        self._forget_earlier()  # of an interpreter that was killed
        earlier = [name for name in _OUTPUTS if _is_file(self.path / name)]
        if earlier:
            (self.path / _EARLIER).mkdir(exist_ok=True)
        for name in earlier:
            (self.path / name).rename(self.path / _EARLIER / name)

    def _forget_earlier(self) -> None:
        for name in _OUTPUTS:
            with contextlib.suppress(FileNotFoundError):
                (self.path / _EARLIER / name).unlink()
        with contextlib.suppress(OSError):
            (self.path / _EARLIER).rmdir()

    def _undo(self) -> None:
        """The folder is what it was, but for its log."""
        for name in _OUTPUTS:
            with contextlib.suppress(FileNotFoundError):
                (self.path / _EARLIER / name).rename(self.path / name)
        self._forget_earlier()
        self._unmark()

    def _unmark(self) -> None:
        """Where it was not marked before, and has no outputs of a run."""
        if self._new and not self._has_outputs():
            (self.path / _MARK).unlink(missing_ok=True)

    def _has_outputs(self) -> bool:
        return any(os.path.lexists(self.path / name) for name in _OUTPUTS)

    def _refused(self) -> bool:
        """By the program, whose log says so, or never started."""
        return bool(_REFUSED.match(_head(self.log))) and not self._has_outputs()

    @property
    def descriptors(self) -> list[int]:
        """Besides the log, of the lock."""
        return [self._name.fileno()] if self._name else []

    def leave(self) -> None:
        """To the process that writes the log. Nobody waits for its answer: the log alone will say whether a run has begun."""
        with contextlib.suppress(OSError):
            self._forget_earlier()
            self._unmark()
        self._close()

    def give_back(self) -> None:
        """To whoever comes next, even where a copy of this interpreter has the log open; not so where a name stands in for the lock."""
        if self.log.closed:
            return
        with contextlib.suppress(OSError):
            if self._refused():
                self._undo()
            else:
                self._forget_earlier()
        with contextlib.suppress(OSError):
            fcntl.flock(self.log, fcntl.LOCK_UN)
        self._close()

    def _close(self) -> None:
        self.log.close()
        if self._name:
            self._name.close()


def new_path(name: str, unique: str) -> pathlib.Path:
    """One below trainstep-runs; what no name may have in it, as the program will say, leads to no other place."""
    return pathlib.Path("trainstep-runs", f"{_STRANGE.sub('-', name)[:100]}-{unique}")
