# SPDX-License-Identifier: Apache-2.0
"""Training from Python on this machine: live lines, results, errors, and no processes left behind."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT, SAMPLES
from sdk_scripts import environment, script, start  # noqa: F401
from waiting import until


@pytest.fixture
def interpreter(program):
    """The distribution's, with the package's sources."""
    return ["env", f"PYTHONPATH={ROOT}/sdk", f"TRAINSTEP={program}", "/usr/bin/python3", "-B"]


def left_of(tmp_path):
    """Command lines of the processes that a test has started, by a variable of their environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"SDK_TEST={tmp_path}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return [words for words in found if words]


def pids_of(tmp_path, word):
    """Of the processes that a test has started and that have this word on their command line."""
    return [entry.name for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit() and belongs(entry, tmp_path, word)]


def belongs(entry, tmp_path, word):
    try:
        mine = f"SDK_TEST={tmp_path}".encode() in (entry / "environ").read_bytes().split(b"\0")
        return mine and word in (entry / "cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


TRAIN = """
    def train(model_dir: trainstep.OutputPath, epochs: int = 3) -> float:
        import os

        os.makedirs(model_dir)
        rank, of = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
        for epoch in range(1, epochs + 1):
            print(f"epoch={epoch}/{epochs} loss={1 / epoch}")
        open(os.path.join(model_dir, "model.txt"), "w").write(f"rank {rank} of {of}")
        return 0.5
"""


def test_function_trains_here_and_hands_back_model_metrics_and_report(script, tmp_path):
    output = script(TRAIN + """
    result = trainstep.run(train, {"epochs": 4}, {"distribution_type": "PyTorch", "number_of_workers": 2}, model_name="digits")
    assert result.exit_code == 0 and result.job_name.startswith("digits-")
    assert result.model_dir.joinpath("model.txt").read_text() == "rank 0 of 2"
    assert result.metrics == {"loss": 0.25} and result.results["Output"] == 0.5
    page = result._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "&lt;svg" in page
    assert result.folder.parent.name == "trainstep-runs" and not (result.folder / "processes/worker-0/outputs/model_dir").samefile(result.model_dir)
    """)
    assert "[master-0] epoch=4/4 loss=0.25" in output and "[worker-0] epoch=4/4 loss=0.25" in output
    assert left_of(tmp_path) == []


def test_result_does_not_show_the_report_of_a_later_run_in_its_folder(script, tmp_path):
    script(TRAIN + """
    first = trainstep.run(train, {"epochs": 1}, folder="here")
    trainstep.run(train, {"epochs": 2}, folder="here")
    page = first._repr_html_()
    assert "is the report of a later run" in page and first.run_id in page and "iframe" not in page
    first.report.unlink()
    page = first._repr_html_()
    assert "cannot be read" in page and first.run_id in page
    """)


def test_sample_of_mpi_trains_on_two_ranks(script, python_of):
    sample = (SAMPLES / "mpi/train.py").read_text(encoding="utf-8")
    output = script(f"""
{textwrap.indent(sample, "        ")}

        def train_digits(model_dir: trainstep.OutputPath("Model"), epochs: int = 8):
            train(model_dir, None, epochs)

        result = trainstep.run(train_digits, {{"epochs": 4}}, {{"distribution_type": "MPI", "number_of_workers": 2}}, additional_funcs=[train],
                               python={python_of("mpi")!r}, model_dir="here")
        assert result.metrics["accuracy"] > 0.8 and (result.model_dir / "model.npz").exists() and result.model_dir.name == "here"
    """)
    assert "rank 1 of 2 trains on 718 images" in output


def test_a_path_that_results_cannot_name_is_refused_before_the_training(script, tmp_path):
    script(TRAIN + """
    import os
    try:
        trainstep.run(train, model_dir=os.fsdecode(b"caf\\xe9"))
    except trainstep.errors.InputError as refusal:
        assert "model_dir: " in str(refusal) and r"caf\\xe9 is not valid UTF-8" in str(refusal), refusal
    else:
        raise AssertionError("no refusal")
    """)
    assert not (tmp_path / os.fsdecode(b"caf\xe9")).exists()


ADDRESSES = ["s3://bucket/models/digits", "minio://bucket/model", "gs://bucket/model", "file:///tmp/model", "other+scheme://model"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_not_taken_for_a_path_of_this_machine(script, tmp_path, address):
    output = script(f"""
    def writes(model_dir: trainstep.OutputPath):
        open(model_dir, "w").write("model")

    def reads(train_dataset_dir: trainstep.InputPath):
        print(open(train_dataset_dir).read())

    for call in (lambda: trainstep.run(writes, model_dir={address!r}), lambda: trainstep.run(reads, train_dataset_dir={address!r}),
                 lambda: trainstep.run(writes, folder={address!r}), lambda: trainstep.submit(writes, folder={address!r}),
                 lambda: trainstep.attach("a", folder={address!r})):
        try:
            print("accepted:", call())
        except trainstep.InputError as refusal:
            print("refused:", refusal)
    """)
    local = "a local run {} only files and folders"
    here = f"refused: folder: {address} is an address, but the folder of a run is on this machine; use a path"
    assert [line for line in output.splitlines() if line.startswith(("accepted:", "refused:"))] == [
        f"refused: model_dir: {address} is not a path on this machine; {local.format('writes')}",
        f"refused: train_dataset_dir: {address} is not a path on this machine; {local.format('reads')}", here, here, here]
    assert not (tmp_path / address.partition("/")[0]).exists()


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_model_at_an_address_is_in_the_results_and_has_no_local_path(script, environment, tmp_path, address):
    """In a cluster: what the program is given, and what it reports."""
    program = tmp_path / "program"
    program.write_text(textwrap.dedent("""\
        #!/bin/sh
        for word; do
          case $word in
          --model-dir=*) model=${word#*=} ;;
          --results=*) results=${word#*=} ;;
          --exit-code-file=*) code=${word#*=} ;;
          esac
        done
        printf '{"model_dir": "%s"}' "$model" > "$results"
        printf '0\\n' > "$code"
        """), encoding="utf-8")
    program.chmod(0o700)
    output = script(f"""
        import os
        os.environ["TRAINSTEP"] = {str(program)!r}
        result = trainstep.submit({{"image": "none", "command": ["true", {{"outputPath": "model_dir"}}]}}, model_dir={address!r}).result()
        print(result.results, result.model_dir)
    """)
    assert output.endswith(f"{{'model_dir': {address!r}}} None\n")


@pytest.mark.parametrize("name", ["model_dir", "train_dataset_dir", "validation_dataset_dir", "folder"])
def test_an_address_that_pathlib_has_shortened_is_refused(script, tmp_path, name):
    output = script(f"""
    import pathlib
    try:
        trainstep.run({{"image": "none", "command": ["true"]}}, {name}=pathlib.Path("s3://bucket/data"))
    except trainstep.InputError as refusal:
        print(refusal)
    """)
    assert output == f"{name}: s3:/bucket/data is an address that pathlib has shortened; pass a str, or for a file of this name an absolute path\n"
    assert not (tmp_path / "s3:").exists()


def test_a_script_in_the_background_of_a_shell_ends_its_training(script, tmp_path):
    output = script(SLEEP + """
    import contextlib, signal, sys
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell that is no terminal's does

    def fail(number, frame):
        raise RuntimeError("at last")

    class Shown:
        def write(self, text):
            if "asleep" in text:
                signal.setitimer(signal.ITIMER_REAL, 0.01)
            return len(text)

        def flush(self):
            pass

    signal.signal(signal.SIGALRM, fail)
    try:
        with contextlib.redirect_stdout(Shown()):
            trainstep.run(train)
    except RuntimeError:
        print("timed out")
    """)
    assert output.endswith("timed out\n") and left_of(tmp_path) == []


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_function_may_start_processes_that_import_its_program(script, method):
    script(f"""
    def train() -> int:
        import multiprocessing
        with multiprocessing.get_context("{method}").Pool(2) as pool:
            return sum(pool.map(abs, [1, -2]))

    result = trainstep.run(train, job_options={{"limits": {{"running": "30s"}}}})
    assert result.results == {{"Output": 3}}, result
    """)


@pytest.mark.parametrize("content", [b"accuracy 0.9", b"[0.9]", b"\x80\x04", b'"text"', b""], ids=["words", "list", "bytes", "text", "nothing"])
def test_metrics_that_are_the_programs_own_may_be_anything(script, content):
    script(f"""
    def train(metrics: trainstep.OutputPath, note: trainstep.OutputPath):
        with open(metrics, "wb") as file:
            file.write({content!r})
        with open(note, "w") as file:
            file.write("1")

    result = trainstep.run(train)
    assert result.exit_code == 0 and result.metrics == {{}}, result
    """)


def test_only_numbers_are_metrics_of_the_result(script):
    script("""
    def train(metrics: trainstep.OutputPath):
        with open(metrics, "w") as file:
            file.write('{"accuracy": 0.5, "converged": true, "split": "test", "best": null}')

    result = trainstep.run(train)
    assert result.metrics == {"accuracy": 0.5}, result
    """)


def test_specification_may_be_a_file_a_text_or_image_and_command(script):
    output = script("""
        import base64, pathlib, json
        simple = {"image": "none", "command": ["python3", "-c", "print('accuracy=0.75')"]}
        text = json.dumps(simple)
        pathlib.Path("specification.json").write_text(text)
        for form in (simple, text, pathlib.Path("specification.json"), "base64:" + base64.b64encode(text.encode()).decode()):
            result = trainstep.run(form)
            assert result.metrics == {"accuracy": 0.75} and result.model_dir is None, result
        print("all forms")
        try:
            trainstep.run("@specification.json")
        except trainstep.SpecificationError as problem:
            print(problem)
    """)
    assert output.endswith('all forms\na string is not read as a file; to pass the content of one, use pathlib.Path("specification.json")\n')


def test_invalid_environments_are_reported(script, tmp_path):
    output = script("""
        import os, pathlib

        def train() -> float:
            return 0.5

        def told(**how):
            try:
                trainstep.run(train, **how)
            except trainstep.InputError as problem:
                print(f"told: {problem}")

        pathlib.Path("file").touch()
        told(folder="file/run")
        os.environ["TMPDIR"] = os.path.abspath("absent")
        told()
        del os.environ["TMPDIR"]
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
        told()
    """)
    first, second, third = re.findall("(?m)^told: (.*)$", output)
    assert first == f"folder: cannot write to {tmp_path}/file/run: Not a directory; choose another one"
    assert f"TMPDIR: cannot create a temporary folder in {tmp_path}/absent: No such file or directory" in second
    assert re.fullmatch(r"folder: trainstep-runs/\S+: the working directory no longer exists; change to another one", third)


STRANGE = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei"
SHOWN = "a\u2028b\u2029cdefghi"  # a log has no control characters


def test_only_a_newline_ends_a_line(script):
    """What else str.splitlines() takes for the end of one stands in a line."""
    output = script(f"""
        def train():
            print("first {STRANGE.encode('unicode_escape').decode()}")
            raise ValueError("last {STRANGE.encode('unicode_escape').decode()}")

        try:
            trainstep.run(train)
        except trainstep.TrainingError as problem:
            print([line for line in str(problem).split(chr(10)) if "last" in line and "{{" not in line][-1])
    """)
    assert [line for line in output.split("\n") if '"message"' in line] == []
    assert f"[main] first {SHOWN}" in output.split("\n")
    assert output.endswith("ValueError: last a\\u2028b\\u2029cdefghi\n")  # in a verdict separators are spelled out, too


def test_log_is_split_at_newlines_only():
    sys.path.insert(0, str(ROOT / "sdk"))
    from trainstep._run import lines

    assert lines(f"{STRANGE}\n\n{STRANGE}".encode()) == [STRANGE, "", STRANGE]
    assert lines(f"{STRANGE}\r\n".encode()) == [STRANGE + "\r"] and lines(b"") == []


def test_inputs_are_in_no_command_line_and_stay_nowhere(start, tmp_path):
    secret = "hf_not-for-everybody"
    process = start(f"""
        def train(file: str):
            import os, pathlib, time
            print("loss", len(os.environ["HF_TOKEN"]), flush=True)
            while not pathlib.Path(file).exists():
                time.sleep(0.02)

        token = "".join(chr(c) for c in {[ord(c) for c in secret]})
        trainstep.run(train, {{"file": "{tmp_path / 'go'}"}}, job_options={{"environment": {{"HF_TOKEN": token}}}})
        print("over")
    """)
    for line in process.stdout:
        if line.startswith("[main] loss"):
            break
    words = left_of(tmp_path)
    steps = [pathlib.Path(f"/proc/{pid}/environ") for pid in pids_of(tmp_path, b"--log-format=json")]
    assert any("--job-options=@" in line for line in words) and not any(secret in line for line in words)
    assert steps and not any(secret.encode() in path.read_bytes() for path in steps)
    (tmp_path / "go").touch()
    assert process.stdout.read().endswith("over\n")
    assert [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()] == []


def test_inputs_may_exceed_the_length_limit_of_an_argument(script):
    output = script("""
        def train(a: str, b: str, c: str) -> int:
            return len(a + b + c)

        print(trainstep.run(train, {name: name * 100_000 for name in "abc"}).results)
    """)
    assert output.endswith("{'Output': 300000}\n")


def test_numbers_that_are_not_finite_arrive(script):
    output = script("""
        def train(best: float, more: float = float("nan")) -> str:
            return repr((best, more))

        print(trainstep.run(train, {"best": float("-inf")}).results)
    """)
    assert output.endswith("{'Output': '(-inf, nan)'}\n")


def test_returned_values_are_those_of_python(script):
    output = script("""
        from typing import NamedTuple

        class Outcome(NamedTuple):
            best: float
            worst: float
            text: str

        def declared() -> Outcome:
            return float("nan"), float("-inf"), "NaN"

        def undeclared(what: int):
            return {"loss": float("inf"), "what": what} if what else None

        print(trainstep.run(declared).results, trainstep.run(undeclared, {"what": 1}).results, trainstep.run(undeclared, {"what": 0}).results)
    """)
    assert output.endswith("{'best': nan, 'worst': -inf, 'text': 'NaN'} {'Output': {'loss': inf, 'what': 1}} {}\n")


def test_an_optional_value_of_none_is_reported_and_is_none_in_the_results(script):
    output = script("""
        from typing import Optional

        def train() -> Optional[float]:
            return None

        print(trainstep.run(train).results)
    """)
    assert "train returned None for Output: no value is written\n" in output and output.endswith("{'Output': None}\n")


def test_numbers_that_are_not_finite_come_back_as_numbers_at_any_depth(script):
    output = script("""
        def declared() -> dict:
            nan = float("nan")
            return {"loss": nan, "all": [{"x": [1, float("-inf"), "NaN"]}], "NaN": "Infinity"}

        def history() -> list:
            return [0.5, float("nan"), "nan", {"best": float("inf")}]

        print(trainstep.run(declared).results, trainstep.run(history).results)
    """)
    assert output.endswith("{'Output': {'loss': nan, 'all': [{'x': [1, -inf, 'NaN']}], 'NaN': 'Infinity'}} {'Output': [0.5, nan, 'nan', {'best': inf}]}\n")


def test_text_or_path_that_begins_with_at_names_no_file(script):
    output = script("""
        import pathlib
        pathlib.Path("private").write_text("of-this-machine")
        pathlib.Path("@data").mkdir()
        pathlib.Path("@data/x").write_text("7")

        def train(data: trainstep.InputPath("Dataset")):
            import pathlib
            print("x=" + pathlib.Path(data, "x").read_text())

        for data in (pathlib.Path("@data"), "@data"):
            assert trainstep.run(train, {"data": "train_dataset_dir"}, train_dataset_dir=data).metrics == {"x": 7.0}
        try:
            trainstep.run(train, {"data": "train_dataset_dir"}, train_dataset_dir="@data", model_name="@private")
        except trainstep.InputError as error:
            print("refused:", error)
    """)
    assert "refused: " in output and "@private" in output and "of-this-machine" not in output


def test_model_of_an_earlier_run_in_the_folder_is_not_this_ones(script):
    output = script(TRAIN + """
    def without():
        pass

    assert trainstep.run(train, folder="same").model_dir.joinpath("model.txt").exists()
    result = trainstep.run(without, folder="same")
    print(result.model_dir, result.metrics, result.results)
    """)
    assert output.endswith("None {} {}\n")


def test_lines_appear_as_they_come(start, tmp_path):
    process = start("""
        def train(file: str):
            import pathlib, time
            print("waiting", flush=True)
            while not pathlib.Path(file).exists():
                time.sleep(0.02)
            print("seen", flush=True)

        trainstep.run(train, {"file": "%s"})
        print("over")
    """ % (tmp_path / "go"))
    for line in process.stdout:
        if line == "[main] waiting\n":
            break
    else:
        raise AssertionError("it ended without a word")
    (tmp_path / "go").touch()
    rest = process.stdout.read()
    assert rest.startswith("[main] seen\n") and rest.endswith("over\n")


def test_failing_function_raises_its_traceback_and_leaves_its_report(script):
    output = script("""
        def train():
            nothing = 0
            print("loss=3", 1 / nothing)

        try:
            trainstep.run(train)
        except trainstep.TrainingError as problem:
            print("caught", problem.exit_code, problem.result.report.exists(), problem, sep="|")
    """)
    caught = output.partition("caught|")[2]
    assert caught.startswith("1|True|my-model-") and "failed (user)" in caught
    assert "    print(\"loss=3\", 1 / nothing)" in caught and caught.rstrip().endswith("ZeroDivisionError: division by zero")


REAPING = """
    import os, pickle, signal

    def reap():
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    def train():
        raise ValueError("the job my-model after 3 s: succeeded")

    def killed():
        import os, signal
        pid, found = os.getppid(), []
        while pid > 1:
            with open(f"/proc/{pid}/stat") as stat:
                name, _, fields = stat.read().partition("(")[2].rpartition(")")
            if name == "trainstep":
                found.append(pid)
            pid = int(fields.split()[1])
        for pid in reversed(found):
            os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGCHLD, %s)
    try:
        %s
        print("no error")
    except trainstep.TrainstepError as problem:
        again = pickle.loads(pickle.dumps(problem))
        print(type(again).__name__, again.exit_code)
"""


@pytest.mark.parametrize("reaping", ["signal.SIG_IGN", "lambda *_: reap()"])
@pytest.mark.parametrize("call, error", [
    ("trainstep.run(train)", "TrainingError 1"),
    ('trainstep.run(train, {"epochs": 3})', "InputError 2"),
    ('trainstep.run({"image": "a", "command": ["sleep", "60"]}, job_options={"limits": {"running": "1s"}})', "LimitError 4"),
    ('trainstep.attach("no-such-run")', "InputError 2"),
    ('trainstep.stop("no-such-run")', "InputError 2"),
    ("trainstep.run(killed)", "InfrastructureError"),
    ('trainstep.run({"image": "a", "command": ["true"]})', "no error"),
])
def test_exit_code_is_known_although_another_thread_waits_for_the_process(script, reaping, call, error):
    output = script(REAPING % (reaping, call))
    assert output.splitlines()[-1].startswith(error)


def test_a_path_that_looks_like_a_verdict_is_not_one(script):
    output = script("""
        def train(fail: bool):
            assert not fail

        assert trainstep.run(train, {"fail": False}, model_dir="x after lunch: failed", folder="y after 3 s: cancelled").exit_code == 0
        try:
            trainstep.run(train, {"fail": True}, model_dir="x after lunch: failed", folder="z after 3 s: cancelled")
        except trainstep.TrainingError as problem:
            said = str(problem).splitlines()
            print("failed (user): the training program failed" in said[0], said[-1].endswith("AssertionError"))
    """)
    assert output.endswith("True True\n")


@pytest.mark.parametrize("call, error, message", [
    ('trainstep.run({"image": "none"})', "InputError 2", "train_specification.command: is missing; the image's entry point"),
    ('trainstep.run(train, {"epochs": "many"})', "InputError 2", "epochs: expected an integer"),
    ('trainstep.run(train, {}, {"distribution_typ": "MPI"})', "InputError 2", "did you mean"),
    ('trainstep.run(train, {"epochs": 0}, job_options={"limits": {"running": "1s"}})', "LimitError 4", "the limit of 1.0 s for running"),
    ('trainstep.list_jobs()', "InputError 2", "no kubeconfig"),
])
def test_errors_are_the_programs_own(script, call, error, message):
    output = script(f"""
        def train(epochs: int = 1):
            import time
            time.sleep(0 if epochs else 100)

        try:
            {call}
        except trainstep.TrainstepError as problem:
            print(type(problem).__name__, problem.exit_code, problem)
    """)
    assert message in output and error in output


SLEEP = """
    def train():
        import subprocess
        child = subprocess.Popen(["sleep", "1000"])
        print("asleep", flush=True)
        child.wait()
"""


@pytest.fixture
def asleep(start, tmp_path):
    """asleep(script) → its process, once a training of two ranks with a process each of their own has begun."""

    def begin(text):
        process = start(SLEEP + text)
        until(lambda: sum(words.startswith("sleep 1000") for words in left_of(tmp_path)) == 2, "two ranks asleep")
        return process

    return begin


TWO = '{}, {"distribution_type": "PyTorch", "number_of_workers": 2}'


def test_interrupt_ends_the_training_and_leaves_no_process(asleep, tmp_path):
    process = asleep(f"""
    try:
        trainstep.run(train, {TWO})
    except KeyboardInterrupt:
        print("interrupted")
    """)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "SIGINT (2) received: cancelling the training" in output and output.endswith("interrupted\n")
    assert left_of(tmp_path) == []


def test_interrupt_during_the_start_leaves_no_process_and_no_handler(script, tmp_path):
    output = script(SLEEP + """
    import os, signal

    def fail(number, frame):
        raise TimeoutError("at last")

    signal.signal(signal.SIGALRM, fail)
    for number, raised in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGALRM, TimeoutError)):
        before = signal.getsignal(number)
        armed = [number]
        os.register_at_fork(after_in_parent=lambda: armed and os.kill(os.getpid(), armed.pop()))
        try:
            trainstep.run(train)
        except raised:
            print("raised", raised.__name__)
        assert signal.getsignal(number) is before and not armed
    """)
    assert "raised KeyboardInterrupt" in output and "raised TimeoutError" in output
    assert left_of(tmp_path) == []


def test_killed_interpreter_stops_its_training(asleep, tmp_path):
    process = asleep(f"    trainstep.run(train, {TWO})")
    process.kill()
    process.wait()
    until(lambda: left_of(tmp_path) == [], "everybody gone")


def test_epochs_are_a_bar_where_tqdm_is(python_of, program, environment, tmp_path):
    (tmp_path / "script.py").write_text(f"import trainstep\n{textwrap.dedent(TRAIN)}\ntrainstep.run(train)\nprint('over')\n", encoding="utf-8")
    done = subprocess.run(
        [python_of("sdk"), "-B", tmp_path / "script.py"], cwd=tmp_path, env={**environment, "PYTHONPATH": str(ROOT / "sdk"), "TRAINSTEP": str(program)},
        capture_output=True, text=True, timeout=60, check=False,
    )
    assert "[main] epoch=3/3 loss=0.33" in done.stdout and done.stdout.endswith("over\n"), done.stderr
    assert re.search(r"training: 100%.*3/3", done.stderr.split("\r")[-1]), done.stderr
