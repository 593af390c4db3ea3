# Plants each bug of tests/mutants/*.patch in a copy of the sources and requires that the test named in its head fails there; see README.md.
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import concurrent.futures
import dataclasses
import filecmp
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/mutants"
COPIES = ROOT / "build/mutants"
LOGS = ROOT / "build/log"
SEEDS = 10_000
LIMIT = 300  # seconds for a test; one that hangs has found the bug
WORTH_A_COPY = 20  # bugs that wait; for fewer another copy is not built
# What tests use of this folder's build/ and no planted bug changes.
SHARED = ("venv", "cluster", "s3", "argo")

SIMULATORS = ("sim", "sim_data")
PROGRAM = re.compile(r"unit_[a-z0-9_]+|golden|sim_world")
PYTEST = re.compile(r"tests/(flow|e2e)/\w+_test\.py::(\w+::)?\w+(\[.*\])?")


class Wrong(Exception):
    """Something that has to be mended by hand: a patch, a test, a build."""


@dataclasses.dataclass(frozen=True)
class Test:
    """What is to fail, as the patch's head says it: `sim`, `unit_plan "a test's name"` or `tests/flow/x_test.py::test_y`."""

    text: str

    @property
    def words(self):
        return shlex.split(self.text)

    @property
    def program(self):
        return self.words[0]

    @property
    def preset(self):
        return "sim" if self.program in SIMULATORS else "dev"

    @property
    def target(self):
        return "trainstep" if PYTEST.fullmatch(self.text) else self.program

    def check(self):
        """Such a test exists."""
        if self.text in SIMULATORS:
            return
        if PYTEST.fullmatch(self.text):
            file, *_, name = self.text.split("[")[0].split("::")
            sources, wanted = [ROOT / file], f"def {name}("
        elif PROGRAM.fullmatch(self.program) and len(self.words) == 2:
            folder = self.program.replace("unit_", "unit/").replace("sim_world", "sim")
            sources, wanted = (ROOT / "tests" / folder).glob("*_test.cpp"), self.words[1].strip("*").replace("\\", "").replace('"', '\\"')
        else:
            raise Wrong(f"found-by: {self.text}: expected sim, sim_data, unit_MODULE \"NAME\", golden \"NAME\", sim_world \"NAME\" or tests/…_test.py::test_…")
        if not any(wanted in source.read_text() for source in sources if source.exists()):
            raise Wrong(f"found-by: {self.text}: no such test")

    def command(self, copy):
        build = copy / "build" / self.preset
        if self.program in SIMULATORS:
            return [build / "tests/sim" / self.program, "--first", "1", "--seeds", str(SEEDS), "--until-violated"]
        if self.target == "trainstep":
            return [ROOT / "build/venv/e2e/bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", self.text]
        name = self.words[1]
        if not name.startswith("["):  # not a tag: what the command line would take for syntax
            name = re.sub(r"([,\[\\])", r"\\\1", name)
        return [build / "tests" / self.program, name, "--warn", "NoTests", "--reporter", "compact"]


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    patch: pathlib.Path
    test: Test
    bug: str


def read(name):
    patch = FOLDER / f"{name}.patch"
    if not patch.is_file():
        raise Wrong(f"{name}: no such patch")
    head = re.split(r"^(?:diff --git|--- )", patch.read_text(), maxsplit=1, flags=re.M)[0]
    lines = dict(re.findall(r"^(found-by|bug): (.*\S)\s*$", head, re.M))
    if missing := {"found-by", "bug"} - lines.keys():
        raise Wrong(f"{name}: no line {' or '.join(f'{word}: …' for word in sorted(missing))} before the change")
    return Mutant(name, patch, Test(lines["found-by"]), lines["bug"])


def why_not_applied(mutant):
    """git's last line; nothing where the patch applies."""
    applied = subprocess.run(["git", "apply", "--check", mutant.patch], cwd=ROOT, capture_output=True, text=True, check=False)
    return applied.stderr.strip().splitlines()[-1] if applied.returncode != 0 else ""


def check(mutant):
    if why := why_not_applied(mutant):
        raise Wrong(f"{mutant.name}: does not apply: make it anew ({why})")
    try:
        mutant.test.check()
    except Wrong as wrong:
        raise Wrong(f"{mutant.name}: {wrong}") from None


def rebase(mutant, commit):
    """Makes a patch that applied to the sources of `commit` apply to those of now, where what changed since then leaves the bug's own lines alone."""
    head = re.split(r"^(?=diff --git|--- )", mutant.patch.read_text(), maxsplit=1, flags=re.M)[0]
    changes = []
    with tempfile.TemporaryDirectory() as folder:
        mine, base, planted = (pathlib.Path(folder, name) for name in ("mine", "base", "planted"))
        for side in (base, planted, mine / "a", mine / "b"):
            side.mkdir(parents=True)
        files = re.findall(r"^--- a/(\S+)", mutant.patch.read_text(), re.M)
        for file in files:
            then = subprocess.run(["git", "show", f"{commit}:{file}"], cwd=ROOT, capture_output=True, check=False)
            if then.returncode != 0:
                raise Wrong(f"{mutant.name}: {file} is not in {commit}")
            for side, content in ((base, then.stdout), (planted, then.stdout), (mine / "a", (ROOT / file).read_bytes())):
                (side / file).parent.mkdir(parents=True, exist_ok=True)
                (side / file).write_bytes(content)
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": folder}
        if subprocess.run(["git", "apply", mutant.patch], cwd=planted, env=environment, capture_output=True, check=False).returncode != 0:
            raise Wrong(f"{mutant.name}: does not apply to {commit} either")
        for file in files:
            merged = subprocess.run(["git", "merge-file", "-p", mine / "a" / file, base / file, planted / file], capture_output=True, check=False)
            if merged.returncode != 0:
                raise Wrong(f"{mutant.name}: {file} has changed where the bug is: make it anew")
            (mine / "b" / file).parent.mkdir(parents=True, exist_ok=True)
            (mine / "b" / file).write_bytes(merged.stdout)
            changes.append(f"diff --git a/{file} b/{file}\n")
            command = ["git", "diff", "--no-index", "--no-prefix", f"a/{file}", f"b/{file}"]
            lines = subprocess.run(command, cwd=mine, env=environment, capture_output=True, text=True, check=False).stdout.splitlines(keepends=True)
            changes += [line for line in lines if not line.startswith(("diff --git", "index "))]
    mutant.patch.write_text(head + "".join(changes))


class Copy:
    """A copy of the sources with a build of its own. It is kept: the next run compiles what has changed."""

    def __init__(self, preset, number=1):
        self.preset, self.folder = preset, COPIES / (preset if number == 1 else f"{preset}-{number}")

    def refresh(self):
        """Makes it the same as the sources; files that are the same keep their time."""
        listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        files = {file for file in listed.split("\0") if file and (ROOT / file).is_file()}
        for file in files:
            self.restore(file)
        for folder, folders, names in os.walk(self.folder):
            if pathlib.Path(folder) == self.folder:
                folders.remove("build") if "build" in folders else None
            for name in names:
                path = pathlib.Path(folder) / name
                if str(path.relative_to(self.folder)) not in files:
                    path.unlink()
        (self.folder / "build/log").mkdir(parents=True, exist_ok=True)
        for name in SHARED:
            link = self.folder / "build" / name
            if not link.is_symlink():
                link.symlink_to(ROOT / "build" / name)

    def restore(self, file):
        source, copy = ROOT / file, self.folder / file
        if not source.exists():
            copy.unlink(missing_ok=True)
        elif not copy.exists() or not filecmp.cmp(source, copy, shallow=False):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)

    def plant(self, mutant):
        # Outside of a repository `git apply` takes the folder it is in for the top.
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.folder.parent)}
        subprocess.run(["git", "apply", mutant.patch], cwd=self.folder, env=environment, check=True)

    def take_out(self, mutant):
        for file in re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)", mutant.patch.read_text(), re.M):
            self.restore(file)

    def make(self, targets, log, planted=False):
        environment = {**os.environ, "CCACHE_BASEDIR": str(self.folder)}
        if planted:
            environment["CCACHE_PREFIX"] = str(FOLDER / "warned")
        commands = [["ninja", "-j", str(os.cpu_count()), "-C", self.folder / "build" / self.preset, *targets]]
        if not (self.folder / "build" / self.preset / "build.ninja").is_file():
            commands.insert(0, ["cmake", "-S", self.folder, "--preset", self.preset])
        with log.open("wb") as out:
            for command in commands:
                if subprocess.run(command, env=environment, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
                    return False
        return True

    def run(self, test, log):
        """Whether it passes; None: it was ended at its limit."""
        environment = {
            **os.environ,
            "TRAINSTEP": str(self.folder / "build/dev/trainstep"),
            "TRAINSTEP_VENVS": str(ROOT / "build/venv"),
            "PYTHONDONTWRITEBYTECODE": "1",  # a planted bug may have the length and the second of what was there
        }
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(word) for word in test.command(self.folder)],
                cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
            try:
                return process.wait(timeout=LIMIT) == 0
            except subprocess.TimeoutExpired:
                return None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()


def first_failure(log):
    """The line that says what was seen, or the last one."""
    lines = log.read_text(errors="replace").splitlines()
    for pattern in (r"seed \d+: (?!(Job|PyTorch|MPI|TF) )", r"\S+:\d+: failed: ", r"E  ", r".*(ERROR|terminate called|Assertion|FAILED)"):
        for line in lines:
            if re.match(pattern, line):
                return re.sub(r"^\S*(?=tests/)", "", line)[:200]
    return next((line for line in reversed(lines) if line.strip()), "it printed nothing")[:200]


printing = threading.Lock()


def say(line):
    with printing:
        print(line, flush=True)


class Queue:
    """The bugs of one preset. Each copy that is made takes one after another of them."""

    def __init__(self, preset, mutants):
        self.preset, self.mutants, self.copies = preset, mutants, 0
        self.waiting = collections.deque(mutants)
        self.tests = list(dict.fromkeys(mutant.test for mutant in mutants))
        self.passed = set()
        self.ready = threading.Event()  # the baselines have been run, or could not be

    def copy(self):
        """A copy that is built, without a bug."""
        self.copies += 1
        copy = Copy(self.preset, self.copies)
        log = LOGS / f"{copy.folder.name}_copy.log"
        copy.refresh()
        if not copy.make(sorted({test.target for test in self.tests}), log):
            raise Wrong(f"the copy without a bug does not compile: {log}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-20:]))
        return copy

    def run_baselines(self, copy):
        """Notes the tests that pass where nothing is planted: only their failure says something."""
        for test in self.tests:
            log = LOGS / "mutants_{}.log".format(re.sub(r"\W+", "_", test.text)[:80])
            if copy.run(test, log):
                self.passed.add(test)
            else:
                say(f"{test.text}: fails where nothing is planted: {first_failure(log)} ({log})")

    def work(self, copy):
        """The names of the bugs that were not found, of those that this copy took."""
        lost = []
        while True:
            try:
                mutant = self.waiting.popleft()
            except IndexError:
                return lost
            if mutant.test not in self.passed or not find(copy, mutant):
                lost.append(mutant.name)


def find(copy, mutant):
    """True if its test fails; prints how."""
    log = LOGS / f"mutant_{mutant.name}.log"
    begin = time.monotonic()
    copy.plant(mutant)
    try:
        if not copy.make([mutant.test.target], log, planted=True):
            say(f"{mutant.name}: does not compile: {log}")
            return False
        passed = copy.run(mutant.test, log)
    finally:
        copy.take_out(mutant)
    if passed:
        say(f"{mutant.name}: NOT FOUND by {mutant.test.text}")
        return False
    what = f"still running after {LIMIT} s" if passed is None else first_failure(log)
    say(f"{mutant.name} | found by {mutant.test.text} | {what} ({time.monotonic() - begin:.0f} s)")
    return True


def work_all(first, queues):
    """One worker: its own queue to the end, then what waits elsewhere, in a copy of its own."""
    try:
        copy = first.copy()
        first.run_baselines(copy)
    finally:
        first.ready.set()
    lost = first.work(copy)
    for queue in queues:
        if queue.copies:  # else it is this worker's next one, where there is but one
            queue.ready.wait()
            if len(queue.waiting) >= WORTH_A_COPY:
                lost += queue.work(queue.copy())
    return lost


def main():
    parser = argparse.ArgumentParser(prog="tests/mutants/run")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rebase", metavar="COMMIT")
    parser.add_argument("-j", type=int, default=2, help="bugs at a time: one for a simulator, one for another test, then both for what is left")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    mutants, wrong = [], 0
    for name in options.names or sorted(patch.stem for patch in FOLDER.glob("*.patch")):
        try:
            mutants.append(read(name))
            if options.rebase and why_not_applied(mutants[-1]):
                rebase(mutants[-1], options.rebase)
            check(mutants[-1])
        except Wrong as problem:
            print(problem, file=sys.stderr)
            wrong += 1
    if options.check or options.rebase or wrong:
        return 1 if wrong else 0
    LOGS.mkdir(parents=True, exist_ok=True)
    if any(PYTEST.fullmatch(mutant.test.text) for mutant in mutants) and not (ROOT / "build/venv/e2e/bin/python").exists():
        subprocess.run([ROOT / "tools/prepare_tests.sh"], check=True)
    presets = {}
    for mutant in mutants:
        presets.setdefault(mutant.test.preset, []).append(mutant)
    queues = [Queue(preset, of_preset) for preset, of_preset in presets.items()]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, options.j)) as pool:
        lost = [name for names in pool.map(lambda queue: work_all(queue, queues), queues) for name in names]
    print(f"{len(mutants)} bugs planted, {len(mutants) - len(lost)} found, {time.monotonic() - begin:.0f} s" + (f"; not found: {' '.join(lost)}" if lost else ""))
    return 1 if lost else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as problem:
        sys.exit(f"mutants: {problem}")
