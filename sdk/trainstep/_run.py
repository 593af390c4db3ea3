# SPDX-License-Identifier: Apache-2.0
"""A step as a process of its own: started here, followed to its end, stopped."""
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
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any, Optional

from ._display import Display
from ._files import ExitCode, apart
from ._folder import Folder, new_path
from ._program import flags, plain, program
from ._result import FILES, Result, read_result
from ._signals import HeldSignals
from .errors import InfrastructureError, error
from .inputs import Object, Path, path, text
from .specification import Function, Specification, refuse_lost_none, specification_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .inputs import Inputs

_LOOK_EVERY = 0.05  # seconds between two looks at the log; the end is seen at once
_VERDICT = re.compile(r"\S+(?: \([^)]*\))? after [^:]*: (failed|cancelled|interrupted)\b")  # at the beginning: a path may hold the same words
_LINE = re.compile(r"\[([^\]]+)\] (?: *(?:\d+:)?\d+:\d\d  )?(.*)$")  # of the log as text; only the program's own have a clock
_PR_SET_PDEATHSIG = 1  # prctl(2)


class _Process(subprocess.Popen[bytes]):
    """One that may outlive whoever has started it, without a warning."""

    def __del__(self) -> None:
        super().__del__(_warn=lambda *_, **__: None)  # type: ignore[call-arg]


class Run:
    """A running step, or one that has ended. folder: its log, its outputs and, of a local run, its processes' folders."""

    def __init__(
        self, process: subprocess.Popen[bytes], ended: ExitCode, run_id: str, folder: pathlib.Path, model: pathlib.Path, specification: str = ""
    ) -> None:
        self.run_id = run_id
        self.folder = folder
        self._process = process
        self._owner = os.getpid()
        self._ended = ended
        self._model = model
        self._specification = specification
        # The program has it from us that SIGINT is ignored, as in a script's background; SIGTERM it hears in any case.
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
        """After a fork the step is still the parent's: to the child its end looks like one that nobody knows of."""
        if os.getpid() != self._owner:
            raise RuntimeError(f"this run was started by process {self._owner}, and can be waited for, followed or stopped only there")

    def follow(self, *, bar: bool = True) -> Result:
        """Shows the log from where it was left, to the end; the result. KeyboardInterrupt only looks away: the step runs on.

        TrainstepError: the step did not succeed.
        """
        self._check_owner()
        display = Display(bar, str(self.folder / "log.jsonl"))
        try:
            while self._process.poll() is None:
                self.show(display)
                try:
                    self._process.wait(_LOOK_EVERY)
                except subprocess.TimeoutExpired:
                    pass
            self.show(display)
        finally:
            display.close()
        return self.result()

    def result(self) -> Result:
        """Waits for the end, silently. TrainstepError: the step did not succeed; its message is the program's."""
        self._check_owner()
        code = self._ended.of(self._process.wait()) or 0
        if self._stopped and code == -self._cancel:  # before it heard of signals, and had begun anything
            code = 128 + self._cancel
        result = read_result(self.run_id, self.folder, code, self._model, self._specification)
        if code:
            killed = f"trainstep was killed by signal {-code}: " if code < 0 else ""
            raise error(code, killed + _message([_parsed(line) for line in lines(self._log())]), result)
        return result

    def stop(self) -> None:
        """Ends the training and waits until nothing of it is left: no process here, no job in the cluster."""
        if self.done:
            return
        self._stopped = True
        self._process.send_signal(self._cancel)
        try:
            self._process.wait()
        except KeyboardInterrupt:  # a second one ends the grace that the replicas have
            self._process.send_signal(self._cancel)
            self._process.wait()
            raise

    def log(self) -> str:
        """All lines so far."""
        return "".join(f"[{source}] {message}\n" if source else f"{message}\n" for source, message in map(_parsed, lines(self._log())))

    def _log(self, start: int = 0) -> bytes:
        """From a byte on. b"": there is no more, or somebody has taken it away, which is no reason to end a training."""
        try:
            with (self.folder / "log.jsonl").open("rb") as file:
                file.seek(start)
                return file.read()
        except OSError:
            return b""

    def show(self, display: Display) -> None:
        """What has come since the last time."""
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
    """Trains on this machine, as a gang of processes with the environment that a cluster would give them, and shows their lines as they come.

    train_specification: a function (see `train_specification`), a component of a KFP SDK, a specification's text, a file of it, or
    {"image": …, "command": […]}. train_parameters: formal name → value, or the name of a path of the step. distribution_specification:
    {"distribution_type": "PyTorch", "number_of_workers": 2}. **inputs: all other inputs of a step, see `trainstep.inputs.Inputs` and docs/reference.md.

    python: the interpreter for programs that call python3; default: this one. folder: where log, outputs and the processes' folders go; default: a new
    one below trainstep-runs. model_dir: where the model goes; default: FOLDER/model. bar: with tqdm, a bar of the epochs.

    TrainstepError: the step did not succeed. KeyboardInterrupt ends the training, and nothing of it is left.
    """
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
    """Starts the training on a cluster and comes back at once; `.follow()` shows it and gives its result, `.stop()` ends it.

    The cluster is the pod's own, or that of the kubeconfig; context and namespace choose. The step is a process of this machine that watches the job,
    fetches its outputs and cleans up; it outlives this interpreter. Should the machine go, the job runs on: `attach(run_id)` follows it.
    run_id: the same one takes a run up again (docs/cluster.md); default: a new one. All else as for `run`.
    """
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
        except BaseException:  # nobody will know of it
            started.stop()
            raise
        return started


def followed(start: Callable[[], tuple[Run, Folder]], bar: bool) -> Result:
    """Starts it and follows it to the end; whatever ends the following also ends what is followed, and shows what it said then. The folder is given
    back when all is read."""
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
    place = path("folder", folder or new_path(str(run_id or inputs.get("model_name") or "my-model"), new))
    run_id = run_id or new
    model = path("model_dir", model_dir or place / "model")
    outputs: dict[str, Path] = {"model_dir": model, **{name: place / file for name, file in FILES.items()}}
    words = [str(program()), "run", "--log-format=json", "--python-json", *flags([("run_id", run_id)]), *more]
    words += flags([(name, str(file)) for name, file in outputs.items()])
    if dies_with_us:
        words.append(f"--run-dir={place / 'processes'}")
    with contextlib.ExitStack() as files:
        given = [(name, files.enter_context(_unnamed(said))) for name, said in texts if said]
        words += flags([(name, f"@/proc/self/fd/{file.fileno()}") for name, file in given])
        process, ended, claimed = spawn(words, place, dies_with_us, [file.fileno() for _, file in given])
        return Run(process, ended, run_id, place, model, specification), claimed


def _unnamed(value: str) -> IO[bytes]:
    """A file that has no name, and goes with whoever has it open: what an input says – it may be a secret, or longer than a word of a command line can
    be – is in no process's command line and environment, nothing is left of it whatever ends this interpreter, and no text in it is taken for a file."""
    try:
        file = apart(tempfile.TemporaryFile())
    except OSError as problem:
        raise InfrastructureError(f"TMPDIR: cannot create a temporary file: {problem.strerror}", 3) from None
    try:
        file.write(value.encode())
        file.flush()
    except BaseException:
        with contextlib.suppress(OSError):  # what it holds is written again
            file.close()
        raise
    return file


def spawn(
    words: list[str], place: pathlib.Path, dies_with_us: bool, files: Sequence[int] = ()
) -> tuple[subprocess.Popen[bytes], ExitCode, Folder]:
    """`place` becomes its folder, and it alone writes there. `files`: descriptors that it gets. In a session of its own: a notebook's interrupt goes
    to the kernel's whole group, and it is for us to pass it on. InputError: another run is at work in the folder."""
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
    """What the child does before it becomes the program: it asks for SIGTERM when this interpreter dies, whatever of."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)

    return ask


def lines(log: bytes) -> list[str]:
    """A log's lines as the program ends them, with a newline: what else Python, or Unicode, takes for the end of a line stands inside of one."""
    return log.decode("utf-8", "replace").removesuffix("\n").split("\n") if log else []


def _parsed(line: str) -> tuple[str, str]:
    """(source, message) of a line in either of the log's formats; a line that is none of the log, such as a usage error, has no source."""
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
