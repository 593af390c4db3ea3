# SPDX-License-Identifier: Apache-2.0
"""What a run removes, and what it leaves alone: mounts and folders without permissions left by a program, and the user's own folders."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from conftest import PROGRAM
from surroundings import clean_environment

NOBODY = 65534


@pytest.fixture
def tmp_path():
    """Not below pytest's own folder, which each pytest that begins closes to other users."""
    with tempfile.TemporaryDirectory(prefix="trainstep-folders-") as folder:
        yield pathlib.Path(folder).resolve()


@pytest.fixture
def run(tmp_path):
    """Runs a shell program, `$0` is its model's path, as a step in tmp_path. `beneath`: a command that runs the step. → exit code and all that is said."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def run(script, *words, beneath=(), user=None):
        specification = json.dumps({"image": "none", "command": ["sh", "-c", script, *([{"outputPath": "model_dir"}] if "--model-dir" in words else [])]})
        words = [*beneath, PROGRAM, "run", "--cluster", "local", "--train-specification", specification, *words]
        environment = clean_environment() | {"NO_COLOR": "1", "HOME": str(tmp_path / "home"), "TMPDIR": str(temporary)}
        done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, user=user, check=False)
        return done.returncode, (done.stdout + done.stderr).decode()

    return run


# --- a model in shards: each rank writes its own ---

SHARDS = """mkdir -p $0; echo $RANK >$0/shard-$RANK; i=0
while [ $RANK -eq 0 ] && [ ! -e $0/shard-1 ] && [ $i -lt ${LOOKS:-200} ]; do sleep .05; i=$((i+1)); done"""


@pytest.mark.parametrize("type_, rank", [("PyTorch", "RANK"), ("MPI", "OMPI_COMM_WORLD_RANK")])
def test_the_processes_of_one_worker_write_one_model(run, tmp_path, type_, rank):
    if type_ == "MPI" and not shutil.which("mpirun"):
        pytest.fail("there is no mpirun")
    workers = json.dumps({"distribution_type": type_, "number_of_workers": 1, "processes_per_worker": 2})
    code, said = run(f"RANK=${rank}; {SHARDS}", "--model-dir", "model", "--distribution-specification", workers)
    assert code == 0, said
    assert sorted(entry.name for entry in (tmp_path / "model").iterdir()) == ["shard-0", "shard-1"] and "has written" not in said


def test_what_other_workers_wrote_to_an_output_is_reported(run, tmp_path):
    workers = json.dumps({"distribution_type": "PyTorch", "number_of_workers": 3})
    words = ["--model-dir", "model", "--run-dir", "run", "--distribution-specification", workers]
    code, said = run(f'LOOKS=0; [ "$RANK" -eq 1 ] || {{ {SHARDS}; }}', *words)
    assert code == 0, said
    left = tmp_path / "run/worker-1/outputs/model_dir"
    assert f"model_dir: only the output of master-0 is delivered; worker-1 has written 1 file (2 bytes) to {left}\n" in said
    assert [entry.name for entry in (tmp_path / "model").iterdir()] == ["shard-0"] and (left / "shard-2").exists()


# --- mounts, in a namespace of the step's own ---


@pytest.fixture
def namespace(tmp_path):
    """The words before a command that has it enter a namespace of mounts, which lasts as long as the test."""
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    keeper = subprocess.Popen(["unshare", *user, "--mount", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert keeper.stdout.readline(), "no namespace of mounts can be made: run this as root, or allow user namespaces"
    own = [] if os.getuid() == 0 else ["--user", "--preserve-credentials"]
    yield ("nsenter", "--target", str(keeper.pid), *own, "--mount", f"--wdns={tmp_path}")
    keeper.stdin.close()
    keeper.wait()
    keeper.stdout.close()


@pytest.fixture
def data(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "precious").write_text("1")
    return data


def test_mounts_in_the_temporary_folder_are_kept_and_reported(run, namespace, data, tmp_path):
    code, said = run(f"mkdir $TMPDIR/bucket $TMPDIR/other; mount --bind {data} $TMPDIR/bucket", beneath=namespace)
    assert code == 0, said
    assert "temporary files of the run are kept: cannot remove " in said
    assert "/bucket: a file system is mounted there" in said
    assert (data / "precious").read_text() == "1"
    (left,) = (tmp_path / "temporary").iterdir()
    assert [entry.name for entry in left.iterdir()] == ["bucket"]


def test_a_killed_run_leaves_what_is_mounted_too(run, namespace, data):
    code, said = run(f"mkdir $TMPDIR/bucket; mount --bind {data} $TMPDIR/bucket; kill -9 $PPID", beneath=namespace)
    assert code == 3, said
    assert "/bucket: a file system is mounted there" in said
    assert (data / "precious").read_text() == "1"


def test_a_mount_in_a_failed_runs_model_stays_and_the_next_run_is_refused_until_it_is_gone(run, namespace, data, tmp_path):
    model = ("--model-dir", "model")
    assert run(f"mkdir -p $0/bucket; mount --bind {data} $0/bucket; exit 1", *model, beneath=namespace)[0] == 1
    code, said = run("touch began", *model, "--run-dir", "run", beneath=namespace)
    assert code == 2, said
    assert "new/model/bucket: a file system is mounted there; unmount or remove them" in said
    assert not list(tmp_path.rglob("began"))
    assert (data / "precious").read_text() == "1"
    mounted = next(tmp_path.glob(".model.trainstep/new/model/bucket"))
    subprocess.run([*namespace, "umount", mounted], check=True)
    code, said = run("mkdir $0; echo 1 >$0/weights", *model, beneath=namespace)
    assert code == 0, said
    assert [entry.name for entry in (tmp_path / "model").iterdir()] == ["weights"]


@pytest.fixture
def mounted(namespace, tmp_path):
    """mounted(*names, options) → files of tmp_path at which the files `outside` of them are mounted."""
    def mount(*names, options="rw"):
        (tmp_path / "outside").mkdir()
        for name in names:
            (tmp_path / name).touch()
            (tmp_path / "outside" / name).write_text("older, and longer than what comes")
            subprocess.run([*namespace, "mount", "--bind", tmp_path / "outside" / name, tmp_path / name], check=True)
            subprocess.run([*namespace, "mount", "-o", f"remount,bind,{options}", tmp_path / name], check=True)
        return tmp_path / "outside"

    return mount


FILES = {"metrics": "metrics.json", "report": "report.html", "results": "results.json"}


def test_files_that_are_mounts_are_written_in_place(run, namespace, mounted, tmp_path):
    outside = mounted("model.bin", *FILES.values())
    words = ["--model-dir", "model.bin", *(word for name, file in FILES.items() for word in (f"--{name}", file))]
    code, said = run("cat $0 && exit 9; echo new >$0; echo loss=0.1", *words, beneath=namespace)
    assert code == 0, said
    assert (outside / "model.bin").read_text() == "new\n"
    assert json.loads((outside / "metrics.json").read_text()) == {"loss": 0.1}
    assert json.loads((outside / "results.json").read_text()) == {"model_dir": f"{tmp_path}/model.bin"}
    assert (outside / "report.html").read_text().endswith("</html>\n") and not list(tmp_path.glob(".model*"))
    code, said = run("echo half >$0; exit 1", *words, beneath=namespace)
    assert code == 1 and (outside / "model.bin").read_text() == "new\n"


@pytest.mark.parametrize("name", ["model-dir", *FILES])
def test_a_mounted_file_that_cannot_be_written_is_refused_before_the_training(run, namespace, mounted, tmp_path, name):
    mounted("file", options="ro")
    words = {"model-dir": "model", name: "file"}
    code, said = run("touch $TMPDIR/../began; echo weights >$0", *(word for flag, place in words.items() for word in (f"--{flag}", place)), beneath=namespace)
    assert code == 2, said
    assert f"cannot write to {tmp_path}/file: Read-only file system" in said and not (tmp_path / "temporary/began").exists()


def test_a_folder_written_to_a_mounted_file_is_reported_and_kept_next_to_it(run, namespace, mounted, tmp_path):
    outside = mounted("model")
    code, said = run("mkdir $0; echo weights >$0/weights", "--model-dir", "model", beneath=namespace)
    assert code == 1, said
    assert "model is a mounted file, but the output is a folder" in said
    assert (tmp_path / ".model.trainstep/new/model/weights").exists() and (outside / "model").read_text().startswith("older")


def test_a_link_in_the_temporary_folder_is_not_followed(run, data):
    assert run(f"ln -s {data} $TMPDIR/link")[0] == 0
    assert (data / "precious").read_text() == "1"


# --- folders without rights, of a user who is not root ---


@pytest.fixture
def user(tmp_path):
    """The user that runs the step: nobody, because root ignores modes; None: the current user."""
    if os.getuid() != 0:
        return None
    for folder in (tmp_path, tmp_path / "temporary"):
        shutil.chown(folder, NOBODY, NOBODY)
    return NOBODY


@pytest.mark.parametrize("mode", ["555", "000"])
def test_unreadable_folders_are_removed_with_the_temporary_folder(run, user, mode, tmp_path):
    code, said = run(f"mkdir -p $TMPDIR/mod/x; echo 1 >$TMPDIR/mod/x/file; chmod {mode} $TMPDIR/mod/x $TMPDIR/mod", user=user)
    assert code == 0, said
    assert "stay" not in said
    assert not list((tmp_path / "temporary").iterdir())


def test_a_run_folder_that_can_no_longer_be_read_is_not_called_renamed(run, user, tmp_path):
    try:
        code, said = run(f"chmod 000 {tmp_path}/trainstep-runs", "--model-dir", "model", user=user)
    finally:
        (tmp_path / "trainstep-runs").chmod(0o755)
    assert code == 3, said
    assert re.search(rf"run-dir: cannot read {tmp_path}/trainstep-runs/\S+: Permission denied", said), said
    assert "renamed" not in said


@pytest.mark.parametrize("model", ["echo x >$0; chmod 000 $0", "mkdir $0; echo x >$0/a; echo y >$0/b; chmod 000 $0/b", "mkdir -p $0/b; echo x >$0/a; chmod 000 $0/b"])
def test_a_model_with_a_file_that_its_user_cannot_read_is_none(run, user, model, tmp_path):
    code, said = run(model, "--model-dir", "model", user=user)
    assert code == 1, said
    assert "Permission denied; the program must leave its output files readable" in said
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("mode", ["555", "000"])
def test_folders_without_rights_of_a_failed_run_are_not_found_by_the_next_one(run, user, mode, tmp_path):
    model = ("--model-dir", "model")
    assert run(f"mkdir -p $0/sub; echo failed >$0/sub/weights; chmod {mode} $0/sub; exit 1", *model, user=user)[0] == 1
    code, said = run("test -e $0 && exit 9; mkdir $0; echo good >$0/weights; chmod 555 $0", *model, user=user)
    assert code == 0, said
    assert [entry.name for entry in (tmp_path / "model").iterdir()] == ["weights"]
    code, said = run("mkdir $0; echo better >$0/weights", *model, user=user)
    assert code == 0, said
    assert (tmp_path / "model/weights").read_text() == "better\n"


@pytest.mark.parametrize("link", ["ln -s $TMPDIR/weights $0", "mkdir $0; echo x >$0/x; ln -s $TMPDIR/weights $0/weights"])
def test_what_a_link_leads_to_stays_when_its_copy_does_not_fit(run, namespace, tmp_path, link):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run([*namespace, "mount", "-t", "tmpfs", "-o", "size=200k", "none", small], check=True)
    code, said = run(f"dd if=/dev/zero of=$TMPDIR/weights bs=4k count=100 2>&1; {link}", "--model-dir", small / "model", "--run-dir", "run", beneath=namespace)
    assert code == 3, said
    (left,) = (tmp_path / "temporary").iterdir()
    assert (left / "weights").stat().st_size == 409600
    assert f"the targets of its links are in {left}" in said


@pytest.fixture
def small(namespace, tmp_path):
    """A file system that holds 64 kB."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run([*namespace, "mount", "-t", "tmpfs", "-o", "size=64k", "none", small], check=True)
    return small


@pytest.mark.parametrize("end", [0, 7])
def test_exit_code_has_its_place_on_a_disk_that_gets_full(run, namespace, small, end):
    code, _ = run(f"dd if=/dev/zero of={small}/filled bs=4k count=100 2>&1; exit {end}", "--exit-code-file", small / "code", beneath=namespace)
    assert code == (1 if end else 0)
    assert subprocess.run([*namespace, "cat", small / "code"], capture_output=True, check=True, text=True).stdout == f"{code}\n"


def test_a_disk_that_is_full_has_no_place_for_an_exit_code_and_nothing_begins(run, namespace, small, tmp_path):
    subprocess.run([*namespace, "dd", "if=/dev/zero", f"of={small}/filled", "bs=4k", "count=100"], check=False, capture_output=True)
    code, said = run(f"echo >{tmp_path}/begun", "--exit-code-file", small / "code", beneath=namespace)
    assert code == 2, said
    assert "--exit-code-file" in said and "No space left on device" in said
    assert not (tmp_path / "begun").exists()


def test_outputs_that_a_failed_run_cannot_write_are_reported(run, namespace, small):
    subprocess.run([*namespace, "sh", "-c", f"echo '{{}}' >{small}/metrics.json"], check=True)
    script = f"echo loss=1; dd if=/dev/zero of={small}/filled bs=4k count=100 2>&1; exit 7"
    code, said = run(script, "--metrics", small / "metrics.json", "--run-dir", "run", beneath=namespace)
    assert code == 1, said
    assert re.search(r"cannot write .*metrics\.json: No space left on device; the output paths do not contain the outputs of this run", said)


@pytest.fixture
def frozen(tmp_path):
    """Freezes a path by its attributes, until the test ends."""
    if os.getuid() != 0:
        pytest.fail("attributes of files can only be set by root: run this as root")
    paths = []

    def frozen(path, attribute):
        subprocess.run(["chattr", f"+{attribute}", path], check=True)
        paths.append((attribute, path))

    yield frozen
    for attribute, path in reversed(paths):
        subprocess.run(["chattr", f"-{attribute}", path], check=True)


@pytest.mark.parametrize("attribute", ["i", "a"])
@pytest.mark.parametrize("place", ["metrics.json", "."])
def test_immutable_outputs_are_rejected_before_anything_starts(run, frozen, tmp_path, attribute, place):
    out = tmp_path / "out"
    out.mkdir()
    (out / "metrics.json").write_text("{}")
    frozen(out / place, attribute)
    code, said = run(f"echo >{tmp_path}/begun", "--metrics", out / "metrics.json")
    assert code == 2 and "metrics" in said, said
    assert not (tmp_path / "begun").exists()


def test_a_file_that_becomes_immutable_fails_the_run_before_the_model_is_committed(run, frozen, tmp_path):
    (tmp_path / "metrics.json").write_text("{}")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/weights").write_text("older")
    script = f"mkdir $0; echo new >$0/weights; chattr +i {tmp_path}/metrics.json"
    try:
        code, said = run(script, "--model-dir", "model", "--metrics", "metrics.json", "--run-dir", "run")
    finally:
        subprocess.run(["chattr", "-i", tmp_path / "metrics.json"], check=True)
    assert code == 3 and "metrics.json: Operation not permitted" in said, said
    assert (tmp_path / "model/weights").read_text() == "older"
    assert not list(tmp_path.glob("*.tstep"))


def test_a_folder_of_a_containers_image_is_replaced_as_any_other(run, namespace, tmp_path):
    for name in ("image", "layers", "root"):
        (tmp_path / name).mkdir()
    (tmp_path / "image/model").mkdir()
    (tmp_path / "image/model/older").write_text("older")
    layers = tmp_path / "layers"
    subprocess.run([*namespace, "mount", "-t", "tmpfs", "none", layers], check=True)
    subprocess.run([*namespace, "mkdir", layers / "upper", layers / "work"], check=True)
    overlay = f"lowerdir={tmp_path}/image,upperdir={layers}/upper,workdir={layers}/work"
    subprocess.run([*namespace, "mount", "-t", "overlay", "-o", overlay, "none", tmp_path / "root"], check=True)
    code, said = run("mkdir $0; echo weights >$0/weights", "--model-dir", tmp_path / "root/model", "--run-dir", "run", beneath=namespace)
    assert code == 0, said
    found = subprocess.run([*namespace, "sh", "-c", "cd root; grep -r . model*"], capture_output=True, check=True, text=True).stdout
    assert sorted(found.split()) == ["model.~1~/older:older", "model/weights:weights"]


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("mode", ["644", "000"])
def test_an_unreadable_model_is_kept_until_the_next_run(run, user, end, mode, tmp_path):
    code, said = run(f"mkdir $0; echo weights >$0/weights; chmod {mode} $0/weights $0; exit {end}", "--model-dir", "model", user=user)
    assert code == 1, said
    left = tmp_path / ".model.trainstep/new/model"
    assert f"is in {left} until the next run" in said
    left.chmod(0o755)
    (left / "weights").chmod(0o644)
    assert (left / "weights").read_text() == "weights\n"


# --- what only its owner may replace ---


@pytest.fixture
def shared(tmp_path, user):
    """A world-writable sticky folder like /tmp, with files of another user."""
    if user is None:
        pytest.skip("only root can make files of another user")
    folder = tmp_path / "shared"
    (folder / "model").mkdir(parents=True)
    for entry in (folder / "file", folder / "model/older"):
        entry.write_text("{}")
        entry.chmod(0o666)
    (folder / "model").chmod(0o777)
    folder.chmod(0o1777)
    return folder


@pytest.mark.parametrize("flag", ["metrics", "results", "report", "model-dir"])
def test_a_place_that_only_another_user_may_replace_is_refused_before_the_training(run, user, shared, tmp_path, flag):
    words = {"model-dir": "model", flag: shared / "file"}
    code, said = run("touch $TMPDIR/../began; echo weights >$0", *(word for name, place in words.items() for word in (f"--{name}", place)), user=user)
    assert code == 2, said
    assert "belongs to another user, and only its owner may replace it" in said
    assert not (tmp_path / "temporary/began").exists()
    assert (shared / "file").read_text() == "{}"


def test_a_model_goes_into_another_users_folder_that_cannot_be_replaced(run, user, shared):
    code, said = run("mkdir $0; echo weights >$0/weights", "--model-dir", shared / "model", user=user)
    assert code == 0, said
    assert (shared / "model/weights").read_text() == "weights\n"


# --- where processes cannot be seen ---


def test_a_run_that_could_not_see_its_processes_does_not_begin(run, tmp_path):
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    code, said = run("touch $TMPDIR/../began", beneath=["unshare", *user, "--pid", "--fork"])  # with the /proc of others
    assert code == 3, said
    assert "/proc" in said
    assert not (tmp_path / "temporary/began").exists()


# --- a run's folder ---


def contents(folder):
    return {path.relative_to(folder): path.readlink() if path.is_symlink() else path.read_text() for path in folder.rglob("*") if not path.is_dir()}


def test_a_folder_of_the_user_is_not_used_as_a_run_folder(run, tmp_path):
    (tmp_path / "real").write_text("#!/bin/sh\n")
    venv = tmp_path / "venv"
    for path, text in {"bin/python": "users", "outputs/model_dir": "users", "main/executor_output.json": "{}"}.items():
        (venv / path).parent.mkdir(parents=True)
        (venv / path).write_text(text)
    (venv / "bin/python3").symlink_to(tmp_path / "real")
    before = contents(tmp_path)
    for folder in ("venv", ".", "venv/bin"):
        code, said = run("touch began", "--run-dir", folder, "--python", sys.executable, "--record", "record.json")
        assert code == 2
        assert f"run-dir: {folder} contains " in said
        assert "and was not created by a run, which would overwrite its contents; choose a new or empty folder" in said
        assert contents(tmp_path) == before


def test_a_runs_folder_serves_again_with_another_interpreter_and_with_outputs_of_the_step_in_it(run, tmp_path):
    folder = ("--run-dir", "run", "--report", "run/report.html", "--record", "run/record.json")
    (tmp_path / "run").mkdir()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ntouch {tmp_path}/used\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    code, said = run("python3 -c 'print(1)'", *folder, "--python", str(python))
    assert code == 0, said
    (tmp_path / "used").unlink()
    code, said = run("python3 -c 'print(1)'; echo mine >../notes", *folder)
    assert code == 0, said
    assert not (tmp_path / "used").exists()
    assert run("true", *folder)[0] == 0
    assert (tmp_path / "run/notes").read_text() == "mine\n"


@pytest.mark.parametrize("model", ["model", "../beside/model"])
def test_a_folder_that_is_renamed_while_the_program_runs_gets_no_model_under_its_old_name(run, tmp_path, model):
    """A path that is relative leads elsewhere then: to an older model, say."""
    project, renamed = tmp_path / "project", tmp_path / "else/renamed"
    project.mkdir()
    renamed.parent.mkdir()
    older = pathlib.Path(os.path.normpath(project / model))
    older.mkdir(parents=True)
    (older / "old").write_text("older")
    script = f'cd / && mv {project} {renamed} && mkdir -p "$0" && echo 1 > "$0/new"'
    code, said = run(script, "--run-dir", str(tmp_path / "run"), "--model-dir", model, beneath=("env", "-C", str(project)))
    if model == "model":
        assert (code, contents(renamed)) == (3, {pathlib.Path("model/old"): "older"}), said
        assert "while the output was being written" in said
        assert f"the program's output is in {project}/.model.trainstep/new/model until the next run" in said
    else:
        assert code == 0 and f"model_dir: {older}\n" in said, said
        assert contents(older) == {pathlib.Path("new"): "1\n"}
