# SPDX-License-Identifier: Apache-2.0
"""The wheel as a user gets it: installed by pip into a new environment, used from the shell and from Python."""
import filecmp
import os
import pathlib
import platform
import re
import signal
import subprocess
import textwrap
import time
import zipfile

import pytest
from conftest import ROOT, SAMPLES

WHEELS = sorted((ROOT / "build/wheel").glob("trainstep-*.whl"))


@pytest.fixture(scope="module")
def wheel():
    assert WHEELS, "no wheel in build/wheel: ./dev wheel makes it"
    return WHEELS[0]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A new environment with nothing but the wheel: its folder of programs."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--no-index", wheel], check=True)
    return folder / "bin"


@pytest.fixture
def environment(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUBERNETES_", "KUBECONFIG", "ARGO_", "TRAINSTEP", "PYTHON"))}
    return {**kept, "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "SDK_TEST": str(tmp_path)}


@pytest.fixture
def start(installed, environment, tmp_path):
    """start("print(1)") → the running process of a script that has `import trainstep`."""
    running = []

    def begin(script):
        path = tmp_path / "script.py"
        path.write_text("import trainstep\n" + textwrap.dedent(script), encoding="utf-8")
        process = subprocess.Popen([installed / "python", "-u", path], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, text=True)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def script(start):
    """script("print(1)") → what it prints."""

    def run(text, check=0):
        process = start(text)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == check, output
        return output

    return run


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


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


def until(happened, what, limit=60):
    end = time.monotonic() + limit
    while not (value := happened()):
        assert time.monotonic() < end, f"{what}: not within {limit} s"
        time.sleep(0.02)
    return value


def test_wheel_has_the_program_itself_the_component_and_no_python_around_it(wheel, installed, program, tmp_path):
    assert filecmp.cmp(installed / "trainstep", program, shallow=False)
    assert subprocess.run([installed / "trainstep", "--version"], capture_output=True, text=True, check=True).stdout.startswith("trainstep ")
    with zipfile.ZipFile(wheel) as file:
        assert file.read("trainstep/component.yaml") == (ROOT / "component/component.yaml").read_bytes()
        assert "trainstep/py.typed" in file.namelist()
        (metadata,) = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        assert "Requires-Dist" not in file.read(metadata).decode()


def test_wheel_is_named_for_the_programs_machine_and_any_c_library(wheel):
    machine = platform.machine()
    assert wheel.name.partition("-py3-none-")[2] == f"manylinux2014_{machine}.manylinux_2_17_{machine}.musllinux_1_1_{machine}.whl"


def test_wheels_of_other_machines_are_named_by_their_programs(python_of, tmp_path):
    ask = "import hatch_build, pathlib, sys; print(hatch_build.tag(hatch_build.machine(pathlib.Path(sys.argv[1]))))"

    def name_for(content):
        (tmp_path / "program").write_bytes(content)
        words = [python_of("sdk"), "-B", "-c", ask, tmp_path / "program"]
        return subprocess.run(words, cwd=ROOT / "sdk", capture_output=True, text=True, check=False)

    for number, name in ((183, "aarch64"), (21, "ppc64le")):
        head = b"\x7fELF\x02\x01".ljust(18, b"\0") + number.to_bytes(2, "little")
        assert name_for(head).stdout.startswith(f"py3-none-manylinux2014_{name}.")
    assert "is no program for x86_64, aarch64, ppc64le" in name_for(b"#!/bin/sh\nexec something else\n").stderr


def test_import_loads_nothing_but_its_own_file(script):
    before_and_after = script("""
        import sys
        print([name for name in sys.modules if name.split(".")[0] not in sys.stdlib_module_names and "site" not in name and name not in ("__main__", "_distutils_hack")])
        print(sorted({"json", "subprocess", "inspect", "typing", "importlib.metadata"} & set(sys.modules)))
    """)
    assert before_and_after.splitlines() == ["['trainstep']", "[]"]


def test_every_public_name_is_there(script):
    assert script("print([name for name in trainstep.__all__ if getattr(trainstep, name) is None], trainstep.version())").split()[0] == "[]"


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


def test_specification_may_be_a_file_a_text_or_image_and_command(script):
    output = script("""
        import base64, pathlib, json
        simple = {"image": "none", "command": ["python3", "-c", "print('accuracy=0.75')"]}
        text = json.dumps(simple)
        pathlib.Path("specification.json").write_text(text)
        for form in (simple, text, pathlib.Path("specification.json"), "@specification.json", "base64:" + base64.b64encode(text.encode()).decode()):
            result = trainstep.run(form)
            assert result.metrics == {"accuracy": 0.75} and result.model_dir is None, result
        print("all forms")
    """)
    assert output.endswith("all forms\n")


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


@pytest.mark.parametrize("call, error, message", [
    ('trainstep.run({"image": "none"})', "InputError 2", "train_specification.command: is missing; the image's own entry point"),
    ('trainstep.run(train, {"epochs": "many"})', "InputError 2", "epochs: wants a whole number"),
    ('trainstep.run(train, {}, {"distribution_typ": "MPI"})', "InputError 2", "did you mean"),
    ('trainstep.run(train, {"epochs": 0}, job_options={"limits": {"running": "1s"}})', "LimitError 4", "the limit of 1.0 s for running"),
    ('trainstep.list_jobs()', "InputError 2", "there is no kubeconfig"),
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


def test_interrupt_ends_the_training_and_leaves_nobody(asleep, tmp_path):
    process = asleep(f"""
    try:
        trainstep.run(train, {TWO})
    except KeyboardInterrupt:
        print("interrupted")
    """)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "SIGINT (2) received: the training is cancelled" in output and output.endswith("interrupted\n")
    assert left_of(tmp_path) == []


def test_killed_interpreter_takes_its_training_along(asleep, tmp_path):
    process = asleep(f"    trainstep.run(train, {TWO})")
    process.kill()
    process.wait()
    until(lambda: left_of(tmp_path) == [], "everybody gone")


def test_the_words_of_the_readme_work(script):
    (text,) = python_blocks(ROOT / "sdk/README.md")
    assert script(text).splitlines()[-1].startswith("{'loss': 0.2}")


def test_the_cells_of_the_guide_work_one_after_the_other(script):
    """Those for a cluster and for pipelines are run by tests of their own."""
    cells = [text for text in python_blocks(ROOT / "docs/notebook.md") if not text.startswith("# ")]
    output = script("\n".join(cells))
    assert "[worker-0] epoch=5/5" in output and "ZeroDivisionError" in output and output.rstrip().endswith("report.html")


def test_types_are_right(python_of):
    done = subprocess.run([python_of("sdk"), "-m", "mypy", "--python-version", "3.9", "--no-incremental", "--cache-dir", "/dev/null"], cwd=ROOT / "sdk", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
