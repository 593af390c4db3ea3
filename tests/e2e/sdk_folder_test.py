# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: an earlier run's files are replaced, other files are not touched."""
import textwrap

import pytest
from conftest import ROOT
from sdk_scripts import environment, script, start  # noqa: F401

FUNCTIONS = """
    import json, os, pathlib

    def train(loss: float = 1.0, data: trainstep.InputPath = None):
        print(f"loss={loss}")

    def fails():
        raise SystemExit(1)

    def refused(call, *words, **more):
        try:
            call(*words, **more)
        except trainstep.InputError as problem:
            return str(problem)
        raise AssertionError("not refused")

    def held(folder):
        return {path.name: path.read_bytes() if path.is_file() else os.readlink(path) if path.is_symlink() else "folder"
                for path in pathlib.Path(folder).iterdir()}

    def loss(folder):
        return json.loads(pathlib.Path(folder, "metrics.json").read_text())["loss"]
"""
OURS = ["log.jsonl", "metrics.json", "results.json", "report.html", "job_name", "progress"]


@pytest.fixture
def interpreter(program, tmp_path):
    return ["env", f"PYTHONPATH={ROOT}/sdk", f"TRAINSTEP={program}", f"KUBECONFIG={tmp_path}/none", "/usr/bin/python3", "-B"]


@pytest.fixture
def python(script):
    """As script, with FUNCTIONS."""
    return lambda text: script(textwrap.dedent(FUNCTIONS) + textwrap.dedent(text))


@pytest.mark.parametrize("call", ["trainstep.run, train", "trainstep.submit, train", 'trainstep.attach, "a"'])
@pytest.mark.parametrize("name", OURS)
def test_file_that_no_run_has_put_there_is_refused_and_stays(python, tmp_path, name, call):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text('{"mine": 1}\n', encoding="utf-8")
    (tmp_path / "mine/data.csv").touch()
    output = python(f"""
        before = held("mine")
        print(refused({call}, folder="mine"))
        assert held("mine") == before, held("mine")
    """)
    message = f"folder: {tmp_path}/mine/{name} was not created by a run, and this run would replace it; choose another folder, or move it\n"
    assert output.endswith(message)


@pytest.mark.parametrize("call", ["run", "submit"])
@pytest.mark.parametrize("name", [*OURS, ".trainstep-folder", ".trainstep-earlier", ".trainstep-earlier/model", "processes", "processes/main/model", "log.jsonl/model"])
def test_model_in_the_place_of_the_runs_own_files_is_refused(python, name, call):
    python(f"""
        def model(model_dir: trainstep.OutputPath):
            open(model_dir, "w").write("model")

        trainstep.run(train, folder="same", bar=False)
        before = held("same")
        message = refused(trainstep.{call}, model, folder="same", model_dir="same/{name}")
        assert message == f"model_dir: {{pathlib.Path('same/{name}').resolve()}} is in the place of the run's own files in folder; choose another path", message
        assert held("same") == before
        assert trainstep.run(model, folder="same", model_dir="same/sub/log.jsonl", bar=False).model_dir.read_text() == "model"
    """)


@pytest.mark.parametrize("name", ["log.jsonl", "metrics.json", "progress", "processes/main"])
def test_data_in_the_place_of_the_runs_own_files_are_refused(python, name):
    python(f"""
        trainstep.run(train, folder="same", bar=False)
        before = held("same")
        for data in ("same/{name}", os.path.abspath("same/{name}"), pathlib.Path("same/{name}")):
            message = refused(trainstep.run, train, folder="same", train_dataset_dir=data)
            assert message.startswith("train_dataset_dir: /") and message.endswith(" is in the place of the run's own files in folder; choose another path")
        assert held("same") == before
    """)


@pytest.mark.parametrize("name", OURS)
def test_folder_in_the_place_of_a_file_is_refused_by_name(python, tmp_path, name):
    output = python(f"""
        trainstep.run(train, folder="same", bar=False)
        place = pathlib.Path("same/{name}")
        place.unlink(missing_ok=True)
        place.mkdir()
        before = held("same")
        print(refused(trainstep.run, train, folder="same"))
        assert held("same") == before
    """)
    assert output.endswith(f"folder: {tmp_path}/same/{name} is a folder, and this run would replace it; choose another folder, or move it\n")


def test_link_in_a_runs_folder_leads_no_run_out_of_it(python, tmp_path):
    (tmp_path / "log.jsonl").write_text("mine\n", encoding="utf-8")
    output = python("""
        trainstep.run(train, folder="same", bar=False)
        os.remove("same/log.jsonl")
        os.symlink("../log.jsonl", "same/log.jsonl")
        print(refused(trainstep.run, train, folder="same"))
    """)
    assert "same/log.jsonl was not created by a run, " in output and (tmp_path / "log.jsonl").read_text() == "mine\n"


@pytest.mark.parametrize("call", ["trainstep.run", "lambda *words, **more: trainstep.submit(*words, **more).result()"], ids=["run", "submit"])
def test_data_set_that_is_also_the_folder_stays_as_it_is(python, call):
    python(f"""
        os.mkdir("data")
        pathlib.Path("data/a.csv").write_text("1")
        refused({call}, train, {{"data": "train_dataset_dir"}}, folder="data", train_dataset_dir="data")
        assert set(held("data")) == {{"a.csv", "log.jsonl"}}, held("data")
        pathlib.Path("data/metrics.json").write_text("mine")
        assert "data/metrics.json was not created by a run" in refused(trainstep.run, train, folder="data")
        assert held("data")["metrics.json"] == b"mine"
    """)


def test_other_files_in_the_folder_stay_and_a_later_run_takes_the_earlier_ones_place(python):
    python("""
        os.mkdir("same")
        pathlib.Path("same/notes.txt").write_text("mine")
        for value in (1.0, 2.0):
            assert trainstep.run(train, {"loss": value}, folder="same", bar=False).metrics == {"loss": value}
            assert held("same")["notes.txt"] == b"mine" and loss("same") == value
        assert pathlib.Path("same/log.jsonl").read_text().count("succeeded") == 1
        assert not os.path.exists("same/.trainstep-earlier")
    """)


def test_refused_call_leaves_what_the_earlier_run_has_written(python):
    python("""
        trainstep.run(train, folder="same", bar=False)
        before = held("same")
        for _ in range(2):
            assert "los" in refused(trainstep.run, train, {"los": 2}, folder="same")
            now = held("same")
            assert b"'los'" in now.pop("log.jsonl") and now == {name: said for name, said in before.items() if name != "log.jsonl"}, now
        os.environ["TRAINSTEP"], program = "/bin/false", os.environ["TRAINSTEP"]
        trainstep._program.program.cache_clear()
        try:
            trainstep.run(train, folder="same", bar=False)
        except trainstep.TrainstepError:
            assert loss("same") == 1
        os.environ["TRAINSTEP"] = program
        trainstep._program.program.cache_clear()
        try:
            trainstep.run(fails, folder="same", bar=False)
        except trainstep.TrainingError as failed:
            assert failed.result.metrics == {} and held("same").get("metrics.json") != before["metrics.json"]
    """)


def test_earlier_outputs_are_not_part_of_a_rejected_calls_result(python):
    python("""
        trainstep.run(train, folder="same", bar=False)
        try:
            trainstep.run(train, {"los": 2}, folder="same")
        except trainstep.InputError as problem:
            assert (problem.result.metrics, problem.result.results, problem.result.job_name, problem.result.report) == ({}, {}, "", None)
    """)


def test_files_set_aside_by_a_killed_interpreter_are_not_restored(python):
    python("""
        trainstep.run(train, folder="same", bar=False)
        os.mkdir("same/.trainstep-earlier")
        os.rename("same/metrics.json", "same/.trainstep-earlier/metrics.json")
        refused(trainstep.run, train, {"los": 2}, folder="same")
        assert not {"metrics.json", ".trainstep-earlier"} & set(held("same")), held("same")
    """)


def test_attachment_whose_log_begins_with_a_pods_line_has_begun(python, tmp_path):
    """Its folder is taken again."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho '[worker-0] epoch=1'\nexit 3\n", encoding="utf-8")
    program.chmod(0o700)
    output = python(f"""
        os.environ["TRAINSTEP"] = {str(program)!r}
        for _ in range(2):
            try:
                trainstep.attach("a", folder="same", bar=False)
            except trainstep.InfrastructureError as problem:
                print("ended:", problem)
    """)
    assert output.count("ended:") == 2


@pytest.mark.parametrize("log", [
    '{"time":"2026-11-21T08:15:30Z","source":"trainstep","level":"info","message":"version 0.1.0 · Job on this machine: 1 Main"}\n',
    "[trainstep]  0:00  running\n[main] loss=1\n",
])
def test_folder_of_a_release_without_a_mark_is_accepted(python, tmp_path, log):
    (tmp_path / "old").mkdir()
    for name in OURS:
        (tmp_path / "old" / name).write_text(log if name == "log.jsonl" else "{}", encoding="utf-8")
    python("""
        refused(trainstep.run, train, {"los": 2}, folder="old")
        assert held("old")["metrics.json"] == b"{}"
        assert trainstep.run(train, folder="old", bar=False).metrics == {"loss": 1.0}
        refused(trainstep.run, train, {"los": 2}, folder="new")
        assert set(held("new")) == {"log.jsonl"}
        assert trainstep.run(train, folder="new", bar=False).metrics == {"loss": 1.0}
    """)


def test_marked_folder_is_not_a_valid_run_dir(python):
    """Which would write over all that is there."""
    output = python("""
        import subprocess
        os.mkdir("mine")
        pathlib.Path("mine/notes.txt").touch()
        trainstep.run(train, folder="mine", bar=False)
        words = ["run", "--cluster=local", "--run-dir=mine", "--train-specification", json.dumps({"image": "a", "command": ["true"]})]
        print(subprocess.run([os.environ["TRAINSTEP"], *words], capture_output=True, text=True).stderr)
    """)
    assert "and was not created by a run" in output
