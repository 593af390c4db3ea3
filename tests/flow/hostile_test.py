# SPDX-License-Identifier: Apache-2.0
"""Misbehaving programs (tests/hostile), and how a step handles them: as a local run, and under the agent of a pod.

A step succeeds if and only if the training did and its outputs exist: complete, of this run, and no longer being written.
"""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile

import pytest
from conftest import PROGRAM, ROOT, until
from surroundings import clean_environment

HOSTILE = ROOT / "tests/hostile"
RESTART = {"run_policy": {"restart_policy": "OnFailure", "backoff_limit": 1}}
WORKERS = {"distribution_type": "PyTorch", "number_of_workers": 2}
RANKS = {"distribution_type": "MPI", "number_of_workers": 2}

# program → (exit code, what is said)
NOTHING = "the program wrote nothing to"
HELD = "weights was still open for writing"
CHANGED = "changed after the program had succeeded"
EITHER = "the program must wait for everything that writes its"  # what is found first: it changes, or it is open for writing
ENDS = {
    "good.sh": (0, ""),
    "one_file.sh": (0, ""),
    "linked.sh": (0, ""),
    "rotates.py": (0, ""),
    "floods.sh": (0, ""),
    "closes_streams.sh": (0, ""),
    "daemon.py": (0, "killed the processes it left running: "),
    "renames_on.py": (1, CHANGED),
    "writes_on.py": (1, EITHER),
    "writes_on_behind_a_link.sh": (1, EITHER),
    "finishes_late.py": (1, EITHER),
    "threads_on.py": (1, EITHER),
    "maps.py": (1, HELD),
    "holds_open.py": (1, HELD),
    "forks_on.py": (1, EITHER),
    "forks_in_group.py": (1, EITHER),
    "links_elsewhere.sh": (0, ""),
    "links_to_old.sh": (1, NOTHING),
    "links_to_all.sh": (1, NOTHING),
    "fifo.sh": (1, NOTHING),
    "only_folders.sh": (1, NOTHING),
    "empty_file.sh": (1, NOTHING),
    "full_disk.sh": (1, NOTHING),
    "only_metadata.sh": (1, NOTHING),
    "no_files.py": (1, NOTHING),
    "dangling.sh": (1, NOTHING),
    "nothing.sh": (1, NOTHING),
    "fails_half_way.sh": (1, "exited with code 3"),
}
PROGRAMS = pytest.mark.parametrize("program, code, said", [(name, *end) for name, end in ENDS.items()], ids=list(ENDS))


def tree(folder):
    """path → content of all files, links and others below a folder."""
    found = {}
    for path in pathlib.Path(folder).rglob("*"):
        if not path.is_dir() or path.is_symlink():
            found[str(path.relative_to(folder))] = path.read_text() if path.is_file() else None
    return found


@pytest.fixture
def step(gang, tmp_path):
    """Starts a program of the corpus, or a script, as a local step with --model-dir model. `$0` is the model's path."""
    home = tmp_path / "home"
    home.mkdir()

    def start(program, *, model="model", command=None, distribution=None, options=None, run_dir="run", temporary=None, limit=None, variables=None, more=(), wait=True):
        command = command or [str(HOSTILE / program), {"outputPath": "model_dir"}, "executor_output.json"]
        words = [PROGRAM, "run", "--cluster", "local", "--run-dir", tmp_path / run_dir, "--model-dir", tmp_path / model, *more]
        words += ["--train-specification", json.dumps({"image": "none", "command": command})]
        words += ["--distribution-specification", json.dumps(distribution or {}), "--job-options", json.dumps(options or {})]
        name, _, value = gang.mark.partition("=")
        environment = clean_environment()
        environment |= {name: value, "NO_COLOR": "1", "HOME": str(home), "TMPDIR": str(temporary or tmp_path), **(variables or {})}
        gang.log = tmp_path / f"{run_dir}.log"
        gang.process = subprocess.Popen(
            words, env=environment, cwd=home, stdin=subprocess.DEVNULL, stdout=gang.log.open("wb"), stderr=subprocess.STDOUT, preexec_fn=limit
        )
        return gang.exit_code() if wait else gang.process

    return start


def script(text):
    return ["sh", "-c", text, {"outputPath": "model_dir"}]


# --- what is a model, and who may still write it ---


@PROGRAMS
def test_local_step_succeeds_with_a_whole_model_only(step, gang, tmp_path, program, code, said):
    assert step(program) == code, gang.output()
    assert said in gang.output()
    assert (tmp_path / "model").exists() == (code == 0)
    if code == 0:
        assert any(tree(tmp_path / "model").values()) or (tmp_path / "model").is_file()
    gang.assert_gone()
    for pid in re.findall(r"daemon=(\d+)", gang.output()):
        assert not pathlib.Path(f"/proc/{pid}").exists()


@PROGRAMS
def test_agent_reports_only_a_complete_model(gang, tmp_path, program, code, said):
    outputs = tmp_path / "outputs"
    task = {
        "job": "train",
        "attempt": "a1",
        "stores": [],
        "inputs": [],
        "outputs": [{"name": "model_dir", "type": "artifact", "declared": "Model", "path": str(outputs / "model_dir/data")}],
        "executor_output_file": str(outputs / "executor_output.json"),
    }
    log = tmp_path / "termination-log"
    log.touch()
    words = [PROGRAM, "exec", "--", HOSTILE / program, outputs / "model_dir/data", outputs / "executor_output.json"]
    name, _, value = gang.mark.partition("=")
    environment = {**os.environ, "TMPDIR": str(tmp_path), name: value, "TRAINSTEP_TASK": json.dumps(task), "TRAINSTEP_TERMINATION_LOG": str(log)}
    ended = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert not gang.all()
    for pid in re.findall(rb"daemon=(\d+)", ended.stdout):
        assert not pathlib.Path(f"/proc/{int(pid)}").exists()
    if program == "fails_half_way.sh":
        assert ended.returncode == 3
        return
    report = json.loads(log.read_text())
    if said in (CHANGED, HELD, EITHER):
        assert ended.returncode == 1
        assert said in report["message"]
        return
    assert ended.returncode == 0, ended.stderr
    told = next(output for output in report["outputs"] if output["name"] == "model_dir")
    assert told.get("present", False) == (code == 0)
    if "killed" in said:
        assert said in ended.stderr.decode()


def test_an_unwritten_model_is_absent_although_ten_thousand_old_files_exist(step, gang, tmp_path):
    old = tmp_path / "model"
    old.mkdir()
    for number in range(10_100):
        (old / f"shard-{number}").write_text("old")
    assert step("nothing.sh") == 1
    assert NOTHING in gang.output()
    assert len(os.listdir(old)) == 10_100


def test_model_of_an_attempt_that_was_killed_is_not_the_next_ones(step, gang, tmp_path):
    assert step("half_then_nothing.sh", options=RESTART) == 1
    assert "restart 1 of 1" in gang.output()
    assert NOTHING in gang.output()
    assert not (tmp_path / "model").exists()


def test_model_of_an_earlier_attempt_is_not_the_next_ones_with_other_metadata(step, gang, tmp_path):
    assert step("half_then_chmod.sh", options=RESTART) == 1
    assert "restart 1 of 1" in gang.output()
    assert NOTHING in gang.output()
    assert not (tmp_path / "model").exists()


def test_an_attempt_may_write_the_file_of_the_previous_one_once_more(step, gang, tmp_path):
    assert step("copies_twice.sh", options=RESTART) == 0, gang.output()
    assert "restart 1 of 1" in gang.output()
    assert tree(tmp_path / "model") == {"weights": "weights\n"}


def test_an_attempt_may_resume_from_files_of_the_previous_one(step, tmp_path):
    assert step("half_then_whole.sh", options=RESTART) == 0
    assert tree(tmp_path / "model") == {"shard-0": "half\n", "shard-1": "other half\n"}


LINKS = {
    "to the temporary folder": 'echo weights >"$TMPDIR/weights"; ln -s "$TMPDIR" "$0"',
    "to a file there": 'echo weights >"$TMPDIR/weights"; ln -s "$TMPDIR/weights" "$0"',
    "in it": 'mkdir "$0" "$TMPDIR/blobs"; echo x >"$0/x"; echo weights >"$TMPDIR/blobs/a"; ln -s "$TMPDIR/blobs/a" "$0/weights"; ln -s "$TMPDIR/blobs" "$0/blobs"',
    "nothing but a folder there, in it": 'mkdir "$0" "$TMPDIR/blobs"; echo weights >"$TMPDIR/blobs/weights"; ln -s "$TMPDIR/blobs" "$0/best"',
    "to the folder itself, in it": 'mkdir "$0"; echo x >"$0/x"; echo weights >"$TMPDIR/weights"; ln -s "$TMPDIR" "$0/all"; echo weights >"$0/weights"',
    "in a folder there": 'mkdir "$0" "$TMPDIR/blobs" "$TMPDIR/base"; echo weights >"$TMPDIR/blobs/weights"; ln -s "$TMPDIR/blobs" "$TMPDIR/base/best"; ln -s "$TMPDIR/base" "$0/base"',
    "beside it": 'mkdir "$0" "$0-1"; echo x >"$0/x"; echo weights >"$0-1/weights"; ln -s "../$(basename "$0")-1/weights" "$0/weights"',
}


@pytest.mark.parametrize("links", LINKS.values(), ids=list(LINKS))
def test_link_targets_are_copied_before_the_run_is_removed(step, gang, tmp_path, links):
    assert step(None, command=script(links), temporary=tmp_path) == 0, gang.output()
    model = tmp_path / "model"
    assert not model.is_symlink()
    found = tree(model) if model.is_dir() else {"weights": model.read_text()}
    assert found.get("weights", found.get("best/weights", found.get("base/best/weights"))) == "weights\n"
    assert None not in found.values()
    assert step("good.sh", run_dir="second", model="other") == 0  # what lies beside an output goes with the next run


UNBOUND = {
    "a link": 'echo weights >"$TMPDIR/weights"; mkdir -p "$(dirname "$0")"; ln -s "$TMPDIR/weights" "$0"',
    "a folder with links": 'mkdir -p "$0"; echo x >"$0/x"; echo weights >"$TMPDIR/weights"; ln -s "$TMPDIR/weights" "$0/weights"',
}


@pytest.mark.parametrize("links", UNBOUND.values(), ids=list(UNBOUND))
def test_an_unrequested_output_is_complete_in_the_run_folder(step, gang, tmp_path, links):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert step(None, command=["sh", "-c", links, {"outputPath": "other"}], temporary=temporary) == 0, gang.output()
    assert not list(temporary.iterdir())
    (output,) = (tmp_path / "run/outputs").glob("**/other*")
    weights = output if output.is_file() else output / "weights"
    assert not weights.is_symlink() and weights.read_text() == "weights\n"


def test_a_runs_folder_that_is_used_again_has_no_outputs_of_the_run_before(step, gang, tmp_path):
    for script, code in (('mkdir -p "$0"; touch "$0/old"; echo 1 >"$0/shard"; exit 1', 1), ('mkdir -p "$(dirname "$0")"; mkdir "$0" && echo 2 >"$0/shard"', 0)):
        assert step(None, command=["sh", "-c", script, {"outputPath": "other"}]) == code, gang.output()
    (shard,) = (tmp_path / "run/outputs").glob("**/shard")
    assert shard.read_text() == "2\n" and not (shard.parent / "old").exists()


def test_rank_that_does_not_end_well_may_not_have_written_to_the_model_of_rank_0(step, gang):
    late = 'if [ "$RANK" = 0 ]; then mkdir "$0"; echo w >"$0/weights"; echo "$0 $$" >../new; mv ../new ../place; exit 0; fi\n'
    late += "until test -e ../place; do sleep 0.01; done; read -r model pid <../place; while test -e /proc/$pid; do sleep 0.01; done\n"
    late += 'for i in $(seq 100); do echo w >>"$model/shard-1"; sleep 0.01; done; exit 9'
    assert step(None, command=script(late), distribution=WORKERS) == 1, gang.output()
    assert f"{CHANGED}; worker-0 exited with code 9 after that" in gang.output()


@pytest.mark.parametrize("holds, code", [("$model/shard-1", 1), ("log", 0)])
def test_server_that_is_stopped_may_have_its_own_files_open_but_not_the_model(step, gang, tmp_path, holds, code):
    of_chief = """mkdir "$0"; echo w >"$0/weights"; echo "$0" >../new; mv ../new ../place; until test -e ../held; do sleep 0.01; done; exit 0"""
    holding = f'until test -e ../place; do sleep 0.01; done; read -r model <../place; exec 3>>"{holds}"; echo w >&3; touch ../held; exec sleep 1000'
    servers = {"distribution_type": "TF", "number_of_workers": 1, "number_of_parameter_servers": 1}
    assert step(None, command=script(f"case $PWD in */ps-0) {holding};; */worker-0) exit 0;; esac; {of_chief}"), distribution=servers) == code, gang.output()
    assert ("shard-1 was still open for writing when ps-0 had to be stopped" in gang.output()) == (code == 1)
    assert (tmp_path / "model").exists() == (code == 0)


# --- outputs appear whole, or not at all ---


def test_older_model_is_replaced_as_a_whole_and_unknown_contents_are_kept(step, gang, tmp_path):
    (tmp_path / "model").mkdir()
    for number in range(4):
        (tmp_path / f"model/shard-{number}").write_text("old")
    assert step("good.sh") == 0
    assert tree(tmp_path / "model") == {"weights": "weights\n", "config.json": "{}\n"}
    assert set(tree(tmp_path / "model.~1~")) == {f"shard-{number}" for number in range(4)}
    assert f"the previous contents of {tmp_path}/model are kept as {tmp_path}/model.~1~" in gang.output()
    assert step("half_then_whole.sh", run_dir="second", options=RESTART) == 0
    assert set(tree(tmp_path / "model")) == {"shard-0", "shard-1"}
    assert not (tmp_path / "model.~2~").exists()  # it was a run's own


@pytest.mark.parametrize("program", ["fails_half_way.sh", "writes_on.py", "only_folders.sh"])
def test_failed_run_leaves_the_older_model_as_it_was(step, gang, tmp_path, program):
    assert step("good.sh") == 0
    before = tree(tmp_path / "model")
    assert step(program, run_dir="second") == 1
    assert tree(tmp_path / "model") == before
    left = re.search(r"model_dir: the program's output is in (\S+) until the next run", gang.output())
    if program != "only_folders.sh":
        assert tree(left[1])["shard-0"]
    assert step("good.sh", run_dir="third") == 0
    assert {name for name in os.listdir(tmp_path) if "model" in name} <= {"model", ".model.trainstep"}
    assert tree(tmp_path / "model") == before


def hidden(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


def test_files_saved_next_to_the_model_are_reported_and_kept_until_the_next_run(step, gang, tmp_path):
    assert step(None, command=script('mkdir "$0"; echo w >"$0/weights"; echo b >"$0.bin"')) == 0
    assert tree(tmp_path / "model") == {"weights": "w\n"}
    left = re.search(r"model_dir: files that the program saved next to it are not delivered; they are kept in (\S+) until the next run", gang.output())
    assert tree(left[1]) == {"model.bin": "b\n"}
    assert step(None, command=script('mkdir "$0"; echo w >"$0/weights"; touch "$0.lock"; mkdir "$0.logs"'), run_dir="second") == 0
    assert "saved next to" not in gang.output()
    assert not hidden(tmp_path)


def test_a_failed_run_reports_where_it_saved_files_next_to_the_model(step, gang, tmp_path):
    assert step(None, command=script('echo b >"$0.bin"; exit 3')) == 1
    left = re.search(r"model_dir: the program's output is in (\S+) until the next run", gang.output())
    assert tree(left[1]) == {"model.bin": "b\n"}


@pytest.mark.parametrize("ending, code", [("exit 3", 1), ("kill -TERM $PPID; exec sleep 1000", 143), ("kill -KILL $PPID; exec sleep 1000", 3)], ids=["failed", "cancelled", "killed"])
def test_a_run_without_a_model_leaves_nothing_at_its_place(step, tmp_path, ending, code):
    assert step(None, command=script(f'mkdir "$0"; touch "$0/empty"; {ending}')) == code
    assert not hidden(tmp_path)


def test_a_run_without_a_model_leaves_no_folders_that_it_made_for_one(step, tmp_path):
    assert step(None, command=script("exit 3"), model="new/deep/model") == 1
    assert not (tmp_path / "new").exists()


def test_a_killed_run_reports_where_the_model_is(step, gang, tmp_path):
    assert step(None, command=script('echo half >"$0"; kill -KILL $PPID; exec sleep 1000')) == 3
    left = re.search(r"model_dir: the program's output is in (\S+) until the next run", gang.output())
    assert pathlib.Path(left[1]).read_text() == "half\n"


def test_nothing_is_seen_at_the_models_place_while_it_is_written(step, gang, tmp_path):
    process = step(None, command=script('mkdir "$0"; echo 1 >"$0/a"; echo half; until test -e ../go; do sleep 0.01; done; echo 2 >"$0/b"'), wait=False)
    gang.until_said("half")
    assert not (tmp_path / "model").exists()
    (tmp_path / "run/go").touch()
    assert process.wait(timeout=60) == 0
    assert set(tree(tmp_path / "model")) == {"a", "b"}


def test_of_two_runs_with_one_model_the_second_is_refused(step, gang, tmp_path):
    waits = script('echo waiting; until test -e ../go; do sleep 0.01; done; mkdir "$0"; echo first >"$0/weights"')
    first = step(None, command=waits, wait=False)
    gang.until_said("waiting")
    assert step("good.sh", run_dir="second") == 2
    assert f"another run is writing {tmp_path}/model" in gang.output()
    (tmp_path / "run/go").touch()
    assert first.wait(timeout=60) == 0
    assert tree(tmp_path / "model") == {"weights": "first\n"}


MANY = 'mkdir "$0"; echo new >"$0/weights"; seq 2000 | sed "s/.*/a_name_that_is_long_enough_for_more_than_fits_into_a_pipe_&=0.5/"'


@pytest.mark.parametrize("kill", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stop_before_the_model_is_at_its_place_leaves_the_older_one(step, gang, tmp_path, kill):
    assert step("good.sh") == 0
    before = tree(tmp_path / "model")
    os.mkfifo(tmp_path / "metrics")
    more = ["--metrics", tmp_path / "metrics", "--report", tmp_path / "report.html"]
    process = step(None, command=script(MANY), run_dir="second", more=more, wait=False)
    with open(tmp_path / "metrics", "rb") as metrics:  # the step writes what is more than a pipe takes, and then the model is next
        metrics.read(1)
        below = gang.child()
        os.kill(process.pid, kill)
        if kill == signal.SIGKILL:
            process.wait(timeout=60)
        else:
            until(lambda: has_pending(below, kill), "the signal")
        while metrics.read(65536):
            pass
        until(lambda: not alive_or_writes(below, metrics), "the end")
    code = process.wait(timeout=60)
    gang.assert_gone()
    assert code == (-9 if kill == signal.SIGKILL else 128 + kill), gang.output()
    why = "was killed by SIGKILL (9), from outside or out of memory" if kill == signal.SIGKILL else f"{kill.name} ({kill.value}) received"
    assert f"{why}: the training's outputs are not delivered" in gang.output()
    assert tree(tmp_path / "model") == before
    assert "Cancelled" in (tmp_path / "report.html").read_text()


def has_pending(pid, number):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return any(int(mask, 16) >> (number - 1) & 1 for mask in re.findall(r"(?:Sig|Shd)Pnd:\s*(\w+)", status))


def alive_or_writes(pid, stream):
    """Takes what it still has to say, and tells whether it is there."""
    stream.read(65536)
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_model_dir_that_holds_what_is_not_a_model_is_refused(step, gang, tmp_path):
    assert step("good.sh", model=".") == 2
    assert "and is replaced as a whole by the model; choose a separate folder" in gang.output()
    assert step("good.sh", model="home", run_dir="second") == 2


# --- who fails late, who is left, who is killed ---


def test_rank_that_fails_after_the_success_is_reported_with_its_last_lines(step, gang, tmp_path):
    """As the training operator: a PyTorchJob has succeeded when its Master has."""
    late = 'if [ "$RANK" = 0 ]; then echo $$ >../pid.new; mv ../pid.new ../pid; mkdir "$0"; echo w >"$0/weights"; exit 0; fi\n'
    late += "until test -e ../pid; do sleep 0.01; done; while test -e /proc/$(cat ../pid); do sleep 0.01; done; echo its last words; exit 9"
    assert step(None, command=script(late), distribution=WORKERS) == 0, gang.output()
    assert "worker-0 exited with code 9 after the training had succeeded" in gang.output()
    assert "  | its last words" in gang.output()


ORPHAN = "setsid env -i sh -c 'echo $$ >pid.new; mv pid.new pid; cd /; exec sleep 1000' >/dev/null 2>&1 <&1 & until test -e pid; do sleep 0.01; done\n"


def test_orphan_without_variables_ends_before_the_next_attempt(step, gang):
    again = f'if test -e pid; then kill -0 "$(cat pid)" && exit 7; mkdir "$0"; echo w >"$0/weights"; exit 0; fi\n{ORPHAN}exit 1'
    assert step(None, command=script(again), options=RESTART) == 0, gang.output()
    assert re.search(r"killed the processes it left running: \d+ \(\w+\)", gang.output())


def test_orphans_of_two_replicas_are_distinguished(step, gang):
    """The Master's daemon lives as long as the Master, whatever becomes of a worker that is started again."""
    master = f"{ORPHAN}until test -e ../worker-0/done; do sleep 0.01; done; kill -0 \"$(cat pid)\" || exit 8; mkdir \"$0\"; echo w >\"$0/weights\"; exit 0"
    worker = f"if test -e pid; then kill -0 \"$(cat pid)\" && exit 7; touch done; exit 0; fi\n{ORPHAN}until test -e ../master-0/pid; do sleep 0.01; done; exit 1"
    both = f'if [ "$RANK" = 0 ]; then\n{master}\nfi\n{worker}'
    assert step(None, command=script(both), distribution=WORKERS, options=RESTART) == 0, gang.output()


@pytest.mark.parametrize("whom", ["program", "guard"])
def test_temporary_folder_is_removed_whichever_process_is_killed(step, gang, tmp_path, whom):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = step(None, command=script('echo x >"$TMPDIR/file"; echo ready; exec sleep 1000'), temporary=temporary, wait=False)
    gang.until_said("ready")
    assert os.listdir(temporary)
    os.kill(gang.child() if whom == "program" else process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    gang.assert_gone()
    until(lambda: not os.listdir(temporary), "no temporary folder")


@pytest.mark.parametrize("whom", ["program", "guard"])
def test_files_with_a_programs_variables_are_removed_whichever_process_is_killed(step, gang, tmp_path, whom):
    options = {"environment": {"HF_TOKEN": "hf-12345678"}}

    def holding():
        found = subprocess.run(["grep", "-rlsF", "-D", "skip", "hf-12345678", tmp_path, temporary], stdout=subprocess.PIPE, text=True, check=False)
        return found.stdout.split()

    with tempfile.TemporaryDirectory() as temporary:  # a short path: mpirun makes sockets there
        process = step(None, command=script("echo ready; exec sleep 1000"), distribution=RANKS, options=options, temporary=temporary, wait=False)
        gang.until_said("] ready", 2)
        assert len(holding()) == 2 and {os.stat(path).st_mode & 0o777 for path in holding()} == {0o600}
        os.kill(gang.child() if whom == "program" else process.pid, signal.SIGKILL)
        process.wait(timeout=60)
        gang.assert_gone()
        until(lambda: not holding(), "no file with a variable")


def test_a_killed_run_reports_its_end(step, gang, tmp_path):
    word = tmp_path / "termination-log"
    word.touch()
    process = step(None, command=script("echo ready; exec sleep 1000"), variables={"TRAINSTEP_TERMINATION_LOG": str(word)}, wait=False)
    gang.until_said("] ready")
    os.kill(gang.child(), signal.SIGKILL)
    assert process.wait(timeout=60) == 3
    assert word.read_text() == "trainstep was killed; its processes have been stopped"


# --- open files ---


def files(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_soft_limit_of_open_files_is_raised(step, gang):
    many = {"distribution_type": "Job", "indexed": True, "number_of_workers": 20}
    save = script('[ "$JOB_COMPLETION_INDEX" != 0 ] || { mkdir "$0" && echo w >"$0/weights"; }')
    assert step(None, command=save, distribution=many, limit=files(40, 4096)) == 0, gang.output()


def test_hard_limit_of_open_files_is_reported_before_anything_starts(step, gang, tmp_path):
    many = {"distribution_type": "PyTorch", "number_of_workers": 20}
    assert step(None, command=script("touch started"), distribution=many, limit=files(40, 40)) == 2
    assert re.search(r"this many processes require \d+ open files, the limit is 40", gang.output())
    assert not list(tmp_path.rglob("started"))
