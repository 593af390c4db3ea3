# SPDX-License-Identifier: Apache-2.0
"""trainstep run with a program, or somebody else, that changes the place of an output meanwhile."""
import json
import os
import subprocess

import pytest
from conftest import PROGRAM
from surroundings import clean_environment

TWO_ATTEMPTS = ("--job-options", '{"run_policy": {"restart_policy": "OnFailure", "backoff_limit": 1}}')


@pytest.fixture
def train(tmp_path):
    def train(script, *flags, model="model"):
        command = [PROGRAM, "run", "--model-dir", model, "--results", "results.json", *flags, "--", "sh", "-c", script, "sh", "{model_dir}"]
        done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    return train


def delivered(folder):
    return open(json.loads((folder / "results.json").read_text())["model_dir"]).read()


@pytest.mark.parametrize("move", ["mv a z; ln -s z a", "mv a/b a/z; ln -s z a/b", "mv a z; mkdir a; ln -s ../z/b a/b"])
def test_a_link_that_leads_to_the_model_stays(train, tmp_path, move):
    code, said = train(f'echo weights >"$1"; {move}', model="a/b/model")
    assert code == 0, said
    assert (tmp_path / "a/b/model").read_text() == "weights\n"


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("flag, file", [("--model-dir", "model"), ("--metrics", "metrics.json")])
def test_a_file_in_the_place_of_the_folder_of_an_output_stays(train, tmp_path, flag, file, end):
    more = () if flag == "--model-dir" else (flag, f"x/{file}")
    code, said = train(f'echo weights >"$1"; mv x y; echo precious >x; exit {end}', *more, model="x/model" if flag == "--model-dir" else "model")
    assert code == (1 if end else 3), said
    assert (tmp_path / "x").read_text() == "precious\n"
    if flag == "--model-dir":
        assert f"the program's output is in {tmp_path}/y/.model.trainstep/new/model until the next run" in said
        assert (tmp_path / "y/.model.trainstep/new/model").read_text() == "weights\n"


@pytest.mark.parametrize("change", ["rm model", "ln -sfn r2/m model", "ln -sfn /nonexistent/m model"])
def test_a_model_is_not_delivered_where_a_link_no_longer_leads(train, tmp_path, change):
    (tmp_path / "r1").mkdir()
    (tmp_path / "r2").mkdir()
    (tmp_path / "model").symlink_to("r1/m")
    code, said = train(f'echo weights >"$1"; {change}')
    assert code == 3 and f"{tmp_path}/model was a symbolic link to {tmp_path}/r1/m and was removed or changed" in said, said
    assert f"the program's output is in {tmp_path}/r1/.m.trainstep/new/m until the next run" in said
    assert not os.path.exists(tmp_path / "r1/m")


@pytest.mark.parametrize("given", ["m/", "m/.", "m//", "x/../m/", "m/x/.."])
def test_results_name_the_file_at_a_path_that_ends_in_a_slash(train, tmp_path, given):
    code, said = train('echo weights >"$1"', model=given)
    assert code == 0 and f"model_dir: {tmp_path}/m\n" in said, said
    assert delivered(tmp_path) == "weights\n"


@pytest.mark.parametrize("second, code", [("ln $1/a $1/b", 1), ("mv $1/a $1/b", 1), ("cp $1/a $1/b", 0)])
def test_a_file_of_an_earlier_attempt_under_another_name_is_not_the_model(train, second, code):
    script = f"if [ -e done ]; then {second}; exit 0; fi; touch done; mkdir $1; echo old >$1/a; exit 1"
    done, said = train(script, *TWO_ATTEMPTS)
    assert done == code, said
    assert ("the program wrote nothing to" in said) == (code == 1)


@pytest.mark.parametrize("link", ['ln -s /etc/passwd "$1"', 'ln -s "$1" "$1"'])
def test_nothing_is_said_to_be_kept_of_a_link_to_what_is_older(train, tmp_path, link):
    code, said = train(link)
    assert code == 1 and "the program wrote nothing to" in said, said
    assert "until the next run" not in said
    assert not (tmp_path / ".model.trainstep").exists()
