# SPDX-License-Identifier: Apache-2.0
"""`replay` ends as the recorded run did, also if the outputs decided its end."""
import json
import os
import signal
import subprocess

import pytest
from conftest import PROGRAM, until
from surroundings import clean_environment

ENVIRONMENT = clean_environment()


def call(folder, *words):
    return subprocess.run([PROGRAM, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


def specification(script, output=None, **declared):
    words = ["sh", "-c", script, *([{"outputPath": output}] if output else [])]
    return ["run", "--cluster", "local", "--record", "record", "--train-specification", json.dumps({"image": "a", "command": words, **declared})]


NUMBER = {"outputs": [{"name": "n", "type": "Integer"}]}
ENDS = {
    "it succeeded": (specification("echo loss=1"), 0, "succeeded"),
    "no model": ([*specification("true", "model_dir"), "--model-dir", "model"], 1, "its outputs are incomplete"),
    "no value": (specification("true", "n", **NUMBER), 1, "its outputs are incomplete"),
    "a value of another type": (specification("echo x >$0", "n", **NUMBER), 1, "failed (user)"),
    "a place that is gone": ([*specification("rm -r ../../../o; echo x >../../../o"), "--metrics", "o/metrics"], 3, "failed (system)"),
    "a program that fails": (specification("echo why; exit 4"), 1, "exited with code 4"),
}


@pytest.mark.parametrize("name", ENDS)
def test_replay_ends_as_the_run_did(name, tmp_path):
    (tmp_path / "o").mkdir()
    words, code, said = ENDS[name]
    run = call(tmp_path, *words)
    assert run.returncode == code, run.stdout
    replay = call(tmp_path, "replay", "record")
    assert replay.returncode == code, replay.stdout
    verdict = next(line for line in reversed(run.stdout.decode().splitlines()) if " after " in line).split(" s: ")[1]
    assert said in verdict and verdict in replay.stdout.decode()


def test_a_replay_knows_the_definitions_of_metrics(tmp_path):
    own = [{"name": "loss", "regex": "loss is ([0-9.]+)"}, {"name": "epoch", "regex": "round ([0-9/]+)"}]
    of_sagemaker = [{"Name": "validation:accuracy", "Regex": r"eval: ([0-9]+(.|e\-)[0-9]+)"}, {"Name": "val_loss", "Regex": "val (loss|gain) ([0-9.]+)"}]
    words = specification("echo round 2/3: loss=9, the loss is 0.25; echo acc=0.5; echo eval: 0.75")
    run = call(tmp_path, *words, "--metrics", "metrics", "--job-options", json.dumps({"metrics": own + of_sagemaker}))
    assert run.returncode == 0, run.stdout
    assert json.loads((tmp_path / "metrics").read_text()) == {"loss": 0.25, "acc": 0.5, "validation:accuracy": 0.75}
    known = json.loads((tmp_path / "record").read_text().splitlines()[0])["rules"]["metrics"]
    assert known == own + [{key.lower(): text for key, text in each.items()} for each in of_sagemaker]
    replay = call(tmp_path, "replay", "record")
    assert replay.returncode == 0
    for story in (run, replay):
        assert story.stdout.decode().count("no line matched job_options.metrics[3] (val_loss)\n") == 1


def test_a_record_without_its_end_is_not_a_success(tmp_path):
    assert call(tmp_path, *specification("true")).returncode == 0
    lines = (tmp_path / "record").read_text().splitlines(keepends=True)
    assert json.loads(lines[-1])["event"] == "end"
    (tmp_path / "record").write_text("".join(lines[:-1]))
    cut = call(tmp_path, "replay", "record")
    assert cut.returncode == 2 and b"the record ends before the run did" in cut.stderr
    (tmp_path / "record").write_text("".join([*lines, lines[-2]]))
    longer = call(tmp_path, "replay", "record")
    assert longer.returncode == 2 and b"the record continues after its end" in longer.stderr


def test_the_end_in_a_record_holds_no_secrets(tmp_path):
    script = specification("echo hunter2-9xQ; exit 3")
    assert call(tmp_path, *script, "--job-options", json.dumps({"environment": {"DB_PASSWORD": "hunter2-9xQ"}})).returncode == 1
    assert "hunter2" not in (tmp_path / "record").read_text()


def test_a_cancelled_run_is_cancelled_again(tmp_path):
    run = subprocess.Popen([PROGRAM, *specification("touch began; sleep 60")], cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    try:
        until(lambda: list(tmp_path.rglob("began")), "the program begins")
        os.kill(run.pid, signal.SIGINT)
        assert run.wait(timeout=30) == 130
    finally:
        run.kill()
        run.wait()
    assert call(tmp_path, "replay", "record").returncode == 130
