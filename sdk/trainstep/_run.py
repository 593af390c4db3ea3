# SPDX-License-Identifier: Apache-2.0
"""Starts a step as a child process, follows it to its end, or stops it."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Optional

from ._display import Display
from ._files import ExitCode, apart
from ._folder import PROCESSES, Folder, check_beside, new_path
from ._program import flags, plain, program
from ._result import FILES, Result, read_result
from ._signals import HeldSignals
from .errors import InfrastructureError, error
from .inputs import Object, Path, check_names, folder_path, path, text
from .specification import Function, Specification, refuse_lost_none, specification_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .inputs import Inputs

_POLL_INTERVAL = 0.05  # seconds between two reads of the log; the end is noticed at once
_VERDICT = re.compile(r"\S+(?: \([^)]*\))? after [^:]*: (failed|cancelled|interrupted)\b")  # anchored: a path may contain the same words
_LINE = re.compile(r"\[([^\]]+)\] (?: *(?:\d+:)?\d+:\d\d  )?(.*)$")  # of a text log; only the program's own lines have a time
_PR_SET_PDEATHSIG = 1  # prctl(2)


class _Process(subprocess.Popen[bytes]):
    """A child process that may outlive this interpreter without a ResourceWarning."""

    def __del__(self) -> None:
        super().__del__(_warn=lambda *_, **__: None)  # type: ignore[call-arg]


class Run:
    """A running or finished step. folder: contains its log, its outputs and, for a local run, the folders of its processes."""

    def __init__(
        self, process: subprocess.Popen[bytes], ended: ExitCode, run_id: str, folder: pathlib.Path, model: Path, specification: str = ""
    ) -> None:
        self.run_id = run_id
        self.folder = folder
        self._process = process
        self._owner = os.getpid()
        self._ended = ended
        self._model = model
        self._specification = specification
        # An ignored SIGINT, as in a background script, is inherited by the program, which always handles SIGTERM.
        self._cancel = signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT
        self._stopped = False  # by us
        self._read = 0  # bytes of the log that have been shown

    def __repr__(self) -> str:
        if os.getpid() != self._owner:
            return f"<Run {self.run_id} in {self.folder}: of process {self._owner}>"
        code = self._process.poll()
        return f"<Run {self.run_id} in {self.folder}: {'running' if code is None else f'ended with exit code {code}'}>"

    @property
    def done(self) -> bool:
        self._check_owner()
        return self._process.poll() is not None

    def _check_owner(self) -> None:
        """Raises RuntimeError in a forked child: the step belongs to the parent process, which alone can wait for it."""
        if os.getpid() != self._owner:
            raise RuntimeError(f"this run was started by process {self._owner}, and can be waited for, followed or stopped only there")

    def follow(self, *, bar: bool = True) -> Result:
        """Shows the rest of the log to its end, and returns the result. KeyboardInterrupt only detaches: the step keeps running.

        TrainstepError: the step did not succeed.
        """
        self._check_owner()
        display = Display(bar, str(self.folder / "log.jsonl"))
        try:
            while self._process.poll() is None:
                self.show(display)
                try:
                    self._process.wait(_POLL_INTERVAL)
                except subprocess.TimeoutExpired:
                    pass
            self.show(display)
        finally:
            display.close()
        return self.result()

    def result(self) -> Result:
        """Waits for the end without output, and returns the result. TrainstepError: the step did not succeed; the message is the program's."""
        self._check_owner()
        code = self._ended.of(self._process.wait()) or 0
        if self._stopped and code == -self._cancel:  # before it handled signals, or had started anything
            code = 128 + self._cancel
        result = read_result(self.run_id, self.folder, code, self._model, self._specification)
        if code:
            killed = f"trainstep was killed by signal {-code}: " if code < 0 else ""
            raise error(code, killed + _message([_parsed(line) for line in lines(self._log())]), result)
        return result

    def stop(self) -> None:
        """Stops the training and waits until it is gone: no process here, no job in the cluster."""
        if self.done:
            return
        self._stopped = True
        self._process.send_signal(self._cancel)
        try:
            self._process.wait()
        except KeyboardInterrupt:  # a second signal ends the grace period of the replicas
            self._process.send_signal(self._cancel)
            self._process.wait()
            raise

    def log(self) -> str:
        """All lines so far."""
        return "".join(f"[{source}] {message}\n" if source else f"{message}\n" for source, message in map(_parsed, lines(self._log())))

    def _log(self, start: int = 0) -> bytes:
        """Returns the log from a byte offset on; b"" at its end, or if it was removed, which must not end the training."""
        try:
            with (self.folder / "log.jsonl").open("rb") as file:
                file.seek(start)
                return file.read()
        except OSError:
            return b""

    def show(self, display: Display) -> None:
        """Shows the lines and progress since the last call."""
        new = self._log(self._read)
        whole = new[: new.rfind(b"\n") + 1] if self._process.returncode is None else new
        self._read += len(whole)
        for line in lines(whole):
            display.line(*_parsed(line))
        try:
            done, _, of = (self.folder / "progress").read_text(encoding="ascii").partition("/")
            display.progress(int(done), int(of))
        except (OSError, ValueError):  # there is none yet, or it is not the program's
            return


def run(
    train_specification: Specification,
    train_parameters: Optional[Object] = None,
    distribution_specification: Optional[Object] = None,
    *,
    python: Optional[Path] = None,
    folder: Optional[Path] = None,
    model_dir: Optional[Path] = None,
    packages_to_install: Sequence[str] = (),
    additional_funcs: Sequence[Function] = (),
    bar: bool = True,
    **inputs: Unpack[Inputs],
) -> Result:
    """Trains on this machine, as a gang of processes with the same environment as in a cluster, and shows their output.

    train_specification: a function (see `train_specification`), a component of a KFP SDK, a specification as text or file, or
    {"image": …, "command": […]}. train_parameters: parameter → value, or name of one of the step's paths. distribution_specification:
    {"distribution_type": "PyTorch", "number_of_workers": 2}. **inputs: all other inputs of a step, see `trainstep.inputs.Inputs` and docs/reference.md.

    python: the interpreter for programs that call python3; default: this one. folder: for the log, the outputs and the processes' folders; default: a new
    one below trainstep-runs. model_dir: where the model is written; default: FOLDER/model. bar: show a progress bar of the epochs, if tqdm is installed.

    TrainstepError: the step did not succeed. KeyboardInterrupt stops the training, and no process is left.
    """
    check_names(inputs)
    refuse_lost_none(train_specification, train_parameters)
    specification = specification_text(train_specification, inputs.get("base_image"), packages_to_install, additional_funcs)
    more = ["--cluster=local", *flags([("python", os.fspath(python) if isinstance(python, os.PathLike) else python or sys.executable)])]
    return followed(
        lambda: _start(specification, train_parameters, distribution_specification, inputs, more, folder, model_dir, None, dies_with_us=True), bar
    )


def submit(
    train_specification: Specification,
    train_parameters: Optional[Object] = None,
    distribution_specification: Optional[Object] = None,
    *,
    namespace: Optional[str] = None,
    context: Optional[str] = None,
    run_id: Optional[str] = None,
    folder: Optional[Path] = None,
    model_dir: Optional[Path] = None,
    packages_to_install: Sequence[str] = (),
    additional_funcs: Sequence[Function] = (),
    **inputs: Unpack[Inputs],
) -> Run:
    """Starts the training on a cluster and returns at once; `.follow()` shows it and returns its result, `.stop()` stops it.

    The cluster is the pod's own or that of the kubeconfig; context and namespace select it. The step is a process on this machine that follows the job,
    fetches its outputs and cleans up; it outlives this interpreter. If the machine goes down, the job keeps running: `attach(run_id)` follows it.
    run_id: an existing one adopts that run (docs/cluster.md); default: a new one. model_dir: as for `run`, or an address, s3://bucket/model;
    then the result has it in `results`, and no path. Other arguments as for `run`.
    """
    check_names(inputs)
    refuse_lost_none(train_specification, train_parameters)
    specification = specification_text(train_specification, inputs.get("base_image"), packages_to_install, additional_funcs)
    more = ["--cluster=kubernetes", *flags([("namespace", namespace or ""), ("context", context or "")])]
    with HeldSignals() as signals:
        started, claimed = _start(
            specification, train_parameters, distribution_specification, inputs, more, folder, model_dir, run_id, dies_with_us=False
        )
        claimed.leave()
        try:
            signals.let_go()
        except BaseException:  # the caller will not get the Run
            started.stop()
            raise
        return started


def followed(start: Callable[[], tuple[Run, Folder]], bar: bool) -> Result:
    """Starts a run and follows it to the end. An exception in between stops the run and shows its last lines. The folder is released
    when everything is read."""
    with HeldSignals() as signals:
        started, folder = start()
        try:
            signals.let_go()
            return started.follow(bar=bar)
        except BaseException:
            started.stop()
            started.show(Display(bar=False))
            raise
        finally:
            folder.give_back()


def _start(
    specification: str,
    train_parameters: Optional[Object],
    distribution_specification: Optional[Object],
    inputs: Inputs,
    more: list[str],
    folder: Optional[Path],
    model_dir: Optional[Path],
    run_id: Optional[str],
    dies_with_us: bool,
) -> tuple[Run, Folder]:
    values: list[tuple[str, Any]] = [
        ("train_specification", specification),
        ("train_parameters", train_parameters),
        ("distribution_specification", distribution_specification),
        *inputs.items(),
    ]
    texts = [(name, text(name, value)) for name, value in values]
    new = secrets.token_hex(8)
    place = folder_path(folder or new_path(str(run_id or inputs.get("model_name") or "my-model"), new))
    run_id = run_id or new
    model = path("model_dir", model_dir or place / "model")
    _check_paths({**inputs, "model_dir": model}, place)
    outputs: dict[str, Path] = {"model_dir": model, **{name: place / file for name, file in FILES.items()}}
    words = [str(program()), "run", "--log-format=json", "--python-json", *flags([("run_id", run_id)]), *more]
    words += flags([(name, str(file)) for name, file in outputs.items()])
    if dies_with_us:
        words.append(f"--run-dir={place / PROCESSES}")
    with contextlib.ExitStack() as files:
        given = [(name, files.enter_context(_unnamed(said))) for name, said in texts if said]
        words += flags([(name, f"@/proc/self/fd/{file.fileno()}") for name, file in given])
        process, ended, claimed = spawn(words, place, dies_with_us, [file.fileno() for _, file in given])
        return Run(process, ended, run_id, place, model, specification), claimed


def _check_paths(given: Mapping[str, Any], folder: pathlib.Path) -> None:
    """InputError: an input or output of the step is in the place of the run's own files."""
    for name in ("model_dir", "train_dataset_dir", "validation_dataset_dir"):
        found = path(name, given[name]) if given.get(name) and isinstance(given[name], (str, os.PathLike)) else ""
        if isinstance(found, pathlib.Path):
            check_beside(name, found, folder)


def _unnamed(value: str) -> IO[bytes]:
    """An unnamed temporary file with the value, which is removed when it is closed. So the value, which may be a secret or longer than an argument may
    be, appears in no command line or environment, is not left behind by a killed interpreter, and is never read as a file name."""
    try:
        file = apart(tempfile.TemporaryFile())
    except OSError as problem:
        raise InfrastructureError(f"TMPDIR: cannot create a temporary file: {problem.strerror}", 3) from None
    try:
        file.write(value.encode())
        file.flush()
    except BaseException:
        with contextlib.suppress(OSError):  # close() flushes the buffer again
            file.close()
        raise
    return file


def spawn(
    words: list[str], place: pathlib.Path, dies_with_us: bool, files: Sequence[int] = ()
) -> tuple[subprocess.Popen[bytes], ExitCode, Folder]:
    """Starts the program with `place` as its locked folder. `files`: descriptors to inherit. It gets its own session: a notebook's interrupt is sent
    to the kernel's whole process group, and is forwarded by us. InputError: another run is using the folder."""
    ending = _ending_with(os.getpid()) if dies_with_us else None
    ended = ExitCode()
    folder = Folder(place)
    try:
        process = _Process(
            [*words[:2], ended.flag, *words[2:]],
            stdin=subprocess.DEVNULL,
            stdout=folder.log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ARGO_PROGRESS_FILE": str(place / "progress")},
            pass_fds=[ended.descriptor, *files, *folder.descriptors],
            start_new_session=True,
            preexec_fn=ending,
        )
    except BaseException:
        folder.give_back()
        raise
    return process, ended, folder


def _ending_with(parent: int) -> Any:
    """Returns a preexec_fn that requests SIGTERM for the child when this interpreter dies (PR_SET_PDEATHSIG)."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)

    return ask


def lines(log: bytes) -> list[str]:
    """Splits a log at newlines only, as the program writes it: str.splitlines() would also split at other characters."""
    return log.decode("utf-8", "replace").removesuffix("\n").split("\n") if log else []


def _parsed(line: str) -> tuple[str, str]:
    """(source, message) of a line in either of the log's formats; "" as source for other lines, such as a usage error."""
    try:
        found = json.loads(line)
        return str(found["source"]), str(found["message"])
    except (ValueError, TypeError, KeyError):
        found = _LINE.match(line)
        return (found[1], found[2]) if found else ("", line)


def _message(lines: list[tuple[str, str]]) -> str:
    """The verdict and the failed replica's last lines; without a verdict, what the program wrote besides its log."""
    said = [message for source, message in lines if source == "trainstep"]
    for at, message in enumerate(said):
        if _VERDICT.match(message):
            return "\n".join([message, *(more for more in said[at + 1 :] if more.startswith(("the last lines of", "  |")))])
    return plain("\n".join(message for source, message in lines if not source)) or "\n".join(said[-1:])
