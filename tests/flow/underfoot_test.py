# SPDX-License-Identifier: Apache-2.0
"""Folders replaced during a run: nothing is removed that belongs to the user, and nothing is delivered from a folder that was removed."""
import json
import pathlib
import shutil
import subprocess

import pytest
from conftest import PROGRAM, until
from surroundings import clean_environment

COUNT = 'mkdir "$1"; echo $(( $(cat "$0/n" 2>/dev/null || echo 0) + 1 )) >"$1/n"'
READS = {"inputPath": "train_dataset_dir"}


def words(script, *places, **more):
    specification = {"image": "none", "command": ["sh", "-c", script, *places], **more}
    return [PROGRAM, "run", "--cluster", "local", "--train-specification", json.dumps(specification)]


@pytest.fixture
def run(tmp_path):
    def run(*argv):
        done = subprocess.run(argv, env=clean_environment(), cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def start(tmp_path):
    """Starts a run whose program has made `begun`, and goes on when `go` is there."""
    started = []

    def start(script, *places, more=()):
        script = f'{script}; touch {tmp_path}/begun; until [ -e {tmp_path}/go ]; do sleep 0.05; done; mkdir -p "$(dirname "$0")"; '
        argv = [*words(script + 'mkdir -p "$0"; echo 2 >"$0/second"', *places), *more]
        process = subprocess.Popen(argv, env=clean_environment(), cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        started.append(process)
        until((tmp_path / "begun").exists, "the program has begun")
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_an_output_of_the_run_before_that_is_an_input_now_stays(run, tmp_path):
    (tmp_path / "start").mkdir()
    (tmp_path / "start/n").write_text("10\n")
    count = [*words(COUNT, READS, {"outputPath": "state"}), "--run-dir", "rd", "--train-dataset-dir"]
    assert run(*count, "start")[0] == 0
    state = tmp_path / "rd/outputs/state"
    (tmp_path / "link").symlink_to(state)
    (state / "out").symlink_to(tmp_path / "start")
    for given in ("rd/outputs/state", "rd/outputs/state/n", "rd/outputs", "rd", "link", "rd/outputs/state/out"):
        code, said = run(*count, given)
        assert (code, (state / "n").read_text()) == (2, "11\n"), said
        assert f"{given} is, contains or is inside {state}, which this run empties at its start" in said
    assert run(*count[:-3], "--run-dir", "other", "--train-dataset-dir", "rd/outputs/state")[0] == 0
    assert (tmp_path / "other/outputs/state/n").read_text() == "12\n"
    assert run(*count, "start")[0] == 0


@pytest.mark.parametrize("flag", ["--train-dataset-dir", "--model-dir", "--report"])
def test_nothing_of_the_users_is_put_where_a_run_empties_its_folder(run, tmp_path, flag):
    assert run(*words("mkdir ../bin/data"), "--run-dir", "rd")[0] == 0
    code, said = run(*words("true"), "--run-dir", "rd", flag, "rd/bin/data")
    assert code == 2 and "which this run empties at its start" in said
    assert (tmp_path / "rd/bin/data").is_dir()


@pytest.mark.parametrize("name", ["main", "outputs", ".trainstep-run", "outputs/state"])
@pytest.mark.parametrize("flag", ["--report", "--metrics", "--results", "--record", "--model-dir"])
def test_nothing_is_written_in_the_place_of_the_runs_own_files(run, tmp_path, flag, name):
    code, said = run(*words("touch ../../begun", {"outputPath": "state"}), "--run-dir", "rd", flag, f"rd/{name}")
    assert code == 2 and f"{flag[2:].replace('-', '_')}: rd/{name} is the place of {tmp_path}/rd/{name}, which the run itself uses" in said, said
    assert not (tmp_path / "begun").exists()


@pytest.mark.parametrize("again", [True, False])
def test_a_model_whose_folder_was_removed_while_it_was_written_is_not_delivered(start, tmp_path, again):
    process = start('mkdir "$0"; echo 1 >"$0/first"', {"outputPath": "model_dir"}, more=("--model-dir", "m"))
    shutil.rmtree(tmp_path / ".m.trainstep")
    if again:  # another run has the place then
        (tmp_path / ".m.trainstep/new").mkdir(parents=True)
    (tmp_path / "go").touch()
    said = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 3 and not (tmp_path / "m").exists(), said
    assert ".m.trainstep was removed while" in said


def test_a_removed_run_folder_yields_no_results(start, tmp_path):
    process = start("true", {"outputPath": "o"}, more=("--run-dir", "rd", "--results", "results"))
    shutil.rmtree(tmp_path / "rd")
    (tmp_path / "go").touch()
    said = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 3 and "rd was removed during the run; its contents are incomplete" in said
    assert '"o"' not in ((tmp_path / "results").read_text() if (tmp_path / "results").exists() else "")


def rename(folder):
    folder.rename(folder.with_name("renamed"))


@pytest.mark.parametrize("exit_code", [0, 1])
@pytest.mark.parametrize("folder", ["above", "above/rd"])
@pytest.mark.parametrize("again", [True, False])
def test_a_renamed_run_folder_yields_no_results_and_is_not_blamed_on_the_program(start, tmp_path, folder, again, exit_code):
    ends = f'trap "exit {exit_code}" EXIT'
    process = start(ends, {"outputPath": "o"}, more=("--run-dir", "above/rd", "--results", "results"))
    rename(tmp_path / folder)
    if again:
        (tmp_path / "above/rd/outputs").mkdir(parents=True)
    (tmp_path / "go").touch()
    said = process.communicate(timeout=60)[0].decode()
    now = (tmp_path / folder).with_name("renamed") / pathlib.Path("above/rd").relative_to(folder)
    assert process.returncode == 3 and f"{tmp_path}/above/rd was renamed or replaced during the run, and is {now} now" in said, said
    assert '"o"' not in ((tmp_path / "results").read_text() if (tmp_path / "results").exists() else "")


def test_no_attempt_starts_in_a_folder_that_replaced_the_run_folder(start, tmp_path):
    restarts = ("--job-options", '{"run_policy": {"restart_policy": "OnFailure", "backoff_limit": 1}}')
    process = start('trap "exit 1" EXIT', {"outputPath": "o"}, more=("--run-dir", "rd", *restarts))
    rename(tmp_path / "rd")
    (tmp_path / "rd").mkdir()
    (tmp_path / "rd/mine").touch()
    (tmp_path / "begun").unlink()
    (tmp_path / "go").touch()
    said = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 3 and not (tmp_path / "begun").exists(), said
    assert "main" not in {path.name for path in (tmp_path / "rd").iterdir()}


@pytest.mark.parametrize("link", [True, False])
def test_a_run_is_refused_where_the_program_of_another_one_still_writes_to_though_its_folder_was_renamed(run, start, tmp_path, link):
    """The paths that the program was given are that run's for as long as it runs."""
    if link:
        (tmp_path / "real").mkdir()
        (tmp_path / "rd").symlink_to("real")
    first = start("true", {"outputPath": "o"}, more=("--run-dir", "rd"))
    rename(tmp_path / "rd")
    code, said = run(*words('mkdir "$0"; echo 1 >"$0/first"', {"outputPath": "o"}), "--run-dir", "rd")
    assert code != 0 and "run-dir: another run is using" in said, said
    (tmp_path / "go").touch()
    first.communicate(timeout=60)
    assert first.returncode == 3
    code, said = run(*words('mkdir -p "$0"; echo 1 >"$0/first"', {"outputPath": "o"}), "--run-dir", "other")
    assert code == 0, said


WRITTEN = {"metrics": "m.json", "results": "r.json", "report": "p.html", "mlpipeline-ui-metadata": "ui.json"}


@pytest.mark.parametrize("replaced_by", ["folder", "link", "nothing"])
@pytest.mark.parametrize("flag", WRITTEN)
def test_a_file_is_written_only_to_the_folder_in_which_it_was_requested(start, tmp_path, flag, replaced_by):
    (tmp_path / "a/b").mkdir(parents=True)
    file = f"a/b/{WRITTEN[flag]}"
    others = [word for other, name in WRITTEN.items() if other != flag for word in (f"--{other}", name)]
    process = start("echo loss=0.5", {"outputPath": "o"}, more=(f"--{flag}", file, *others))
    (tmp_path / "a").rename(tmp_path / "moved")
    (tmp_path / "theirs/b").mkdir(parents=True)
    if replaced_by == "link":
        (tmp_path / "a").symlink_to("theirs")
    elif replaced_by == "folder":
        (tmp_path / "theirs").rename(tmp_path / "a")
    if replaced_by != "nothing":
        (tmp_path / file).write_text("theirs")
    (tmp_path / "go").touch()
    said = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 3, said
    assert f"cannot write {file}: its folder was renamed or replaced since the step began, and is now {tmp_path}/moved/b" in said
    assert (tmp_path / file).read_text() == "theirs" if replaced_by != "nothing" else not (tmp_path / "a").exists()
    assert list((tmp_path / "moved/b").iterdir()) == []
    if flag != "report":  # what can still be told stands where it was asked for
        assert "renamed or replaced" in (tmp_path / "p.html").read_text() and "report: p.html" in said
    else:
        assert "report: " not in said


@pytest.mark.parametrize("exit_code", [0, 7])
def test_a_folder_that_the_program_removes_is_recreated_for_the_files_of_the_step(run, tmp_path, exit_code):
    (tmp_path / "out").mkdir()
    code, said = run(*words(f"rm -r {tmp_path}/out; echo loss=0.5; exit {exit_code}"), "--metrics", "out/deep/m.json")
    assert code == (1 if exit_code else 0), said
    assert json.loads((tmp_path / "out/deep/m.json").read_text()) == {"loss": 0.5}


@pytest.mark.parametrize("place", ["outputs", "main"])
def test_a_link_in_a_runs_folder_in_the_place_of_one_of_its_own_is_refused(run, tmp_path, place):
    victim = tmp_path / "victim"
    again = [*words('echo 5 | tee "$0" >"$1"', {"outputPath": "o"}, {"outputPath": "p"}), "--run-dir", "rd"]
    assert run(*again)[0] == 0
    shutil.move(tmp_path / "rd" / place, victim)
    for name in ("o", "executor_output.json", "precious"):
        shutil.rmtree(victim / name, ignore_errors=True)
        (victim / name).write_text("theirs")
    (tmp_path / "rd" / place).symlink_to(victim)
    code, said = run(*again)
    assert code == 2 and f"run-dir: {tmp_path}/rd/{place} is a symbolic link" in said, said
    assert {(victim / name).read_text() for name in ("o", "executor_output.json", "precious")} == {"theirs"}
    (tmp_path / "rd" / place).unlink()
    assert run(*again)[0] == 0


def test_a_link_in_place_of_the_outputs_yields_nothing(run, tmp_path):
    (tmp_path / "theirs").mkdir()
    script = 'mkdir "$0"; echo 1 >"$0/w"; cp -r "$0" {0}/theirs/; mv ../outputs ../gone; ln -s {0}/theirs ../outputs'.replace("{0}", str(tmp_path))
    code, said = run(*words(script, {"outputPath": "o"}), "--run-dir", "rd")
    assert code == 3 and f"{tmp_path}/rd/outputs is a symbolic link" in said, said


LEAVES_A_THREAD = """
import ctypes, os, sys, threading
if os.fork(): os._exit(0)
os.setsid()
nowhere = os.open("/dev/null", os.O_RDWR)
for stream in range(3): os.dup2(nowhere, stream)
def write():
    file = open(sys.argv[1] + "/w", "wb", 0)
    file.write(b"a" * 1000)
    open(sys.argv[2], "w").close()
    threading.Event().wait(60)
threading.Thread(target=write).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # exit(2), of this thread alone
"""


def test_a_file_is_open_though_the_first_thread_of_its_process_has_ended(run, tmp_path):
    (tmp_path / "writer.py").write_text(LEAVES_A_THREAD)
    script = f'mkdir "$0"; python3 {tmp_path}/writer.py "$0" {tmp_path}/begun; until [ -e {tmp_path}/begun ]; do sleep 0.05; done'
    code, said = run(*words(script, {"outputPath": "model_dir"}), "--model-dir", "m")
    assert code == 1 and "still open for writing" in said, said
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("flag", ["--exit-code-file", "--record", "--report", "--metrics", "--results", "--job-name-file"])
def test_a_file_in_an_input_is_refused_and_none_is_made(run, tmp_path, flag):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/label").write_text("7\n")
    for place in ("data/new", "data/label"):
        code, said = run(*words("true", READS), "--train-dataset-dir", "data", flag, place)
        assert code == 2 and ("is in train_dataset_dir" in said or "inside train-dataset-dir" in said or "inside train_dataset_dir" in said) and f" {place} " in said, said
        assert {path.name: path.read_text() for path in (tmp_path / "data").iterdir()} == {"label": "7\n"}


@pytest.mark.parametrize("flag", ["--exit-code-file", "--record", "--report", "--metrics", "--results", "--job-name-file", "--model-dir"])
def test_no_file_is_written_over_one_that_a_flag_names_by_at(run, tmp_path, flag):
    text = words("true")[-1]
    (tmp_path / "s.json").write_text(text)
    code, said = run(*words("true")[:-1], "@s.json", flag, "./s.json")
    assert code == 2 and "./s.json is the same as or inside train" in said, said
    assert (tmp_path / "s.json").read_text() == text


def test_an_output_whose_name_no_file_can_have_is_refused(run, tmp_path):
    code, said = run(*words('echo 1 >"$0"', {"outputPath": "o" * 300}))
    assert code == 2 and "the name is too long for a file" in said, said
    assert list(tmp_path.iterdir()) == []
