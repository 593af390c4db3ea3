# SPDX-License-Identifier: Apache-2.0
"""The folder of a run, locked by one run at a time."""
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
_MARK = ".trainstep-folder"  # differs from the program's own mark for a run-dir, which permits it to overwrite the folder
_WORDS = f"This folder is used by runs of the Python package trainstep; the next run replaces {', '.join(_FILES)}.\n"
_EARLIER = ".trainstep-earlier"  # outputs of the previous run, until this one has started
PROCESSES = "processes"  # of a local run
_OWN = (*_FILES, _MARK, _EARLIER, PROCESSES)
# The start of a log whose run was started, and of one whose arguments were rejected.
_BEGUN = re.compile(rb'\{"time":"[^"]*","source":"trainstep","level":"(?!error)|\[trainstep\] ')
_REFUSED = re.compile(rb'\{"time":"[^"]*","source":"trainstep","level":"error"|trainstep: |\Z')
_STRANGE = re.compile(r"[^-._A-Za-z0-9]|^\.+")


def _lock(file: IO[bytes]) -> Optional[IO[bytes]]:
    """Locks the file. Returns None if flock() works; otherwise (ENOSYS, EOPNOTSUPP, ENOLCK) a bound abstract socket that serves as the lock, as
    in the program. BlockingIOError: another process holds it."""
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
    """Whether the path is a regular file; links are not followed."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _head(log: IO[bytes]) -> bytes:
    return os.pread(log.fileno(), 200, 0)


def _names_of_runs(folder: pathlib.Path) -> tuple[str, ...]:
    """The files that an earlier run may have written. Releases without the mark are recognised by their log; a rejected call has left
    only its log."""
    if _is_file(folder / _MARK):
        return _FILES
    if not _is_file(folder / _LOG):
        return ()
    with (folder / _LOG).open("rb") as log:
        head = _head(log)
    return _FILES if _BEGUN.match(head) else (_LOG,) if _REFUSED.match(head) else ()


def _check(folder: pathlib.Path) -> None:
    """InputError: the run would overwrite files that no run created."""
    own = _names_of_runs(folder)
    for name in _FILES:
        path = folder / name
        if os.path.lexists(path) and not (name in own and _is_file(path)):
            what = "is a folder" if path.is_dir() else "was not created by a run"
            raise InputError(f"folder: {path} {what}, and this run would replace it; choose another folder, or move it", 2)


class Folder:
    """A locked run folder with the run's open log; the files of an earlier run are set aside.

    Locked until `release`, or after `detach` until the process that writes the log and inherits `descriptors` ends. A second call while a run
    is in progress changes nothing. InputError: another run is in progress, the folder is not
    writable, or one of the run's files exists but was not created by a run; nothing is changed then. The files of the earlier run are
    restored if the program rejects the call before `release`.
    """

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path).resolve()
        with self._writable():
            self.path.mkdir(parents=True, exist_ok=True)
            _check(self.path)
            self.log = apart((self.path / _LOG).open("a+b"))  # truncated once it is locked
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
        """Moves earlier outputs aside until the run has started."""
        self._forget_earlier()  # left by a killed interpreter
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
        """Restores the folder, except for its log."""
        for name in _OUTPUTS:
            with contextlib.suppress(FileNotFoundError):
                (self.path / _EARLIER / name).rename(self.path / name)
        self._forget_earlier()
        self._unmark()

    def _unmark(self) -> None:
        """Removes the mark if this object created it and there are no outputs of a run."""
        if self._new and not self._has_outputs():
            (self.path / _MARK).unlink(missing_ok=True)

    def _has_outputs(self) -> bool:
        return any(os.path.lexists(self.path / name) for name in _OUTPUTS)

    def _refused(self) -> bool:
        """Whether the program rejected the call, according to its log, or was not started."""
        return bool(_REFUSED.match(_head(self.log))) and not self._has_outputs()

    @property
    def descriptors(self) -> list[int]:
        """Descriptors to inherit besides the log: the lock's, if it is a socket."""
        return [self._name.fileno()] if self._name else []

    def leave(self) -> None:
        """Leaves the folder to the process that writes the log. Does not wait for it to start: only its log shows whether it did."""
        with contextlib.suppress(OSError):
            self._forget_earlier()
            self._unmark()
        self._close()

    def give_back(self) -> None:
        """Unlocks the folder, even if a forked copy of this interpreter has the log open (except for a socket lock)."""
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


def check_beside(name: str, path: pathlib.Path, folder: pathlib.Path) -> None:
    """InputError: the path is where a run with this folder has files of its own. Both are absolute."""
    for own in (folder / file for file in _OWN):
        if any(place == path or place in path.parents for place in (own, own.resolve())):
            raise InputError(f"{name}: {path} is in the place of the run's own files in folder; choose another path", 2)


def new_path(name: str, unique: str) -> pathlib.Path:
    """A new path below trainstep-runs; characters that are not allowed in a name are replaced, so that it cannot lead elsewhere."""
    return pathlib.Path("trainstep-runs", f"{_STRANGE.sub('-', name)[:100]}-{unique}")
