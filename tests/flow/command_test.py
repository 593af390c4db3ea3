# SPDX-License-Identifier: Apache-2.0
"""trainstep run -- COMMAND: a program of the user's own, in the folder where the user is."""
import json
import signal
import subprocess

import pytest
from conftest import PROGRAM
from surroundings import clean_environment
from waiting import until

TRAIN = """
import json, os, sys
import helper
print(f"loss={helper.LOSS} in {os.getcwd()} with {sys.argv[1:]}", flush=True)
for name in ("TRAINSTEP_MODEL_DIR", "TRAINSTEP_METRICS", "TRAINSTEP_TRAIN_DATASET_DIR"):
    print(name, os.environ.get(name), flush=True)
if len(sys.argv) > 1:
    open(sys.argv[1], "w").write("weights")
"""


@pytest.fixture
def call(tmp_path):
    here = tmp_path / "project"
    here.mkdir()
    (here / "train.py").write_text(TRAIN)
    (here / "helper.py").write_text("LOSS = 0.25\n")

    def call(*words, command="run", **variables):
        return subprocess.run(
            [PROGRAM, command, *words], cwd=here, env={**clean_environment(), **variables}, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )

    call.here = here
    return call


def test_a_script_runs_in_this_folder_with_the_modules_next_to_it(call):
    done = call("--", "python3", "train.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"[main] loss=0.25 in {call.here} with []" in done.stdout
    assert "[main] TRAINSTEP_MODEL_DIR None" in done.stdout
    assert list((call.here / "trainstep-runs").iterdir()), "the run's own files are in its own folder"


def test_everything_behind_the_dashes_is_the_programs(call):
    words = ["-h", "--metrics", "x", "--", "-n", "2", "--log-level=nonsense", "{'a': {1: 2}}", "$HOME ${model_dir}", "@train.py", ""]
    done = call("--model-name", "mine", "--", "python3", "-c", "import sys; print(sys.argv[1:])", *words)
    assert done.returncode == 0, done.stderr
    assert f"[main] {words}" in done.stdout
    assert "mine-" in done.stdout


def test_the_model_and_the_metrics_arrive_by_placeholder(call):
    script = "import sys, json; open(sys.argv[1], 'w').write('weights'); json.dump({'f1': 0.5}, open(sys.argv[2], 'w'))"
    done = call("--model-dir", "model", "--metrics", "metrics.json", "--", "python3", "-c", script, "{model_dir}", "{metrics}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (call.here / "model").read_text() == "weights"
    assert json.loads((call.here / "metrics.json").read_text()) == {"f1": 0.5}


def test_the_data_the_model_and_the_metrics_arrive_by_variable(call):
    (call.here / "data").mkdir()
    (call.here / "data/words").write_text("three little words")
    script = 'cat "$TRAINSTEP_TRAIN_DATASET_DIR/words" >"$TRAINSTEP_MODEL_DIR"; echo "{\\"f1\\": 0.5}" >"$TRAINSTEP_METRICS"'
    words = ["--train-dataset-dir", "data", "--model-dir", "model", "--metrics", "metrics.json"]
    done = call(*words, "--", "sh", "-c", script, TRAINSTEP_VALIDATION_DATASET_DIR="/of/another/run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (call.here / "model").read_text() == "three little words"
    assert json.loads((call.here / "metrics.json").read_text()) == {"f1": 0.5}


def test_variables_of_a_surrounding_run_do_not_reach_the_program(call):
    done = call("--", "sh", "-c", "echo model=${TRAINSTEP_MODEL_DIR-none}", TRAINSTEP_MODEL_DIR="/of/another/run")
    assert "[main] model=none" in done.stdout


def test_variables_that_are_passed_on_replace_none_of_the_run(call):
    own = call.here / "tmp"
    own.mkdir()
    script = 'mktemp && echo "outer=${RANK-none}" && echo new >"$TRAINSTEP_MODEL_DIR"'
    words = ["--model-dir", "model", "--job-options", '{"pass_environment": ["*"]}', "--", "sh", "-c", script]
    done = call(*words, TMPDIR=str(own), TRAINSTEP_MODEL_DIR="/of/another/run", RANK="3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "outer=none" in done.stdout
    assert not list(own.iterdir())
    assert (call.here / "model").read_text() == "new\n"


def test_metrics_of_the_log_are_enough(call):
    done = call("--metrics", "metrics.json", "--", "python3", "train.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((call.here / "metrics.json").read_text()) == {"loss": 0.25}


def test_a_model_that_was_asked_for_and_not_written_fails_the_step(call):
    done = call("--model-dir", "model", "--", "true")
    assert done.returncode == 1
    assert "model_dir" in done.stdout + done.stderr
    assert not (call.here / "model").exists()


def test_a_program_that_fails_fails_the_step(call):
    done = call("--", "python3", "-c", "import sys; print('no data'); sys.exit(1)")
    assert done.returncode == 1
    assert "no data" in done.stdout and "failed" in done.stdout


def test_two_workers_get_their_ranks_in_the_same_folder(call):
    script = "import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], 'in', os.getcwd())"
    done = call("-n", "2", "--type", "PyTorch", "--model-dir", "model", "--", "sh", "-c", f'python3 -c "{script}"; echo $RANK >$TRAINSTEP_MODEL_DIR')
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(2):
        assert f"rank {rank} of 2 in {call.here}" in done.stdout
    assert (call.here / "model").read_text() == "0\n"


def test_a_cancel_ends_the_program(gang):
    environment = dict([gang.mark.split("=")])
    command = ["sh", "-c", "trap 'echo saved; exit 0' TERM; echo begun; for i in $(seq 600); do sleep 0.1; done"]
    gang.process = subprocess.Popen(
        [PROGRAM, "run", "--", *command], cwd=gang.folder, env={**clean_environment(), **environment}, stdin=subprocess.DEVNULL, stdout=gang.log.open("wb"), stderr=subprocess.STDOUT
    )
    gang.until_said("[main] begun")
    gang.process.send_signal(signal.SIGINT)
    assert gang.exit_code() == 130
    until(lambda: "saved" in gang.output(), "the program gets a SIGTERM")
    gang.assert_gone()


@pytest.mark.parametrize("words, said", [
    (["--"], "expected a command after --"),
    (["--train-specification", "image: x", "--", "true"], "train_specification cannot be combined with a command after --"),
    (["--train-parameters", '{"epochs": 3}', "--", "true"], "train_parameters cannot be combined with a command after --"),
    (["--executor-input", '{"inputs": {}}', "--", "true"], "executor-input cannot be combined with a command after --"),
    (["--", "true", "{model_dri}"], "unknown path {model_dri}; did you mean {model_dir}?"),
    (["--", "true", "{train_dataset_dir}"], "train_dataset_dir: is missing, but the command after -- names it; pass --train-dataset-dir"),
    (["--", "no-such-program"], "command after --: no-such-program not found on this machine"),
    (["-n", "2", "--distribution-specification", '{"number_of_workers": 3, "distribution_type": "PyTorch"}', "--", "true"],
     "-n 2 contradicts distribution_specification.number_of_workers, which is 3"),
    (["--type", "TF", "--distribution-specification", '{"distribution_type": "MPI"}', "--", "true"],
     "--type TF contradicts distribution_specification.distribution_type"),
    (["-n", "two", "--type", "PyTorch", "--", "true"], "number_of_workers"),
    (["--type", "Torch", "--", "true"], "distribution_type"),
    (["python3", "train.py"], 'unexpected argument "python3"; quote values that contain spaces, and write -- before a command'),
])
def test_contradictions_are_refused_before_anything_runs(call, words, said):
    done = call(*words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert not (call.here / "trainstep-runs").exists()


@pytest.mark.parametrize("words, unexpected", [(["list", "--", "x"], "x"), (["replay", "run.jsonl", "--", "y"], "y"), (["list", "x", "--", "y"], "x")])
def test_a_command_that_takes_no_program_names_the_word_after_the_dashes(call, words, unexpected):
    done = call(*words[1:], command=words[0])
    assert done.returncode == 2
    assert f'{words[0]}: unexpected argument "{unexpected}"; see trainstep --help' in done.stderr, done.stderr


def test_options_that_a_command_does_not_use_are_reported(call):
    done = call("--job-options", '{"component": "train", "logs": ["main", "worker-0"]}', "--", "echo", "hello")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "job_options.component: not used, because a command has only one program; omit it" in done.stdout
    assert "job_options.logs: this Job has no worker-0; it has 1 Main" in done.stdout


def test_the_same_value_twice_is_no_contradiction(call):
    done = call("-n", "2", "--type", "pytorch", "--distribution-specification", '{"number_of_workers": 2, "distribution_type": "PyTorch"}', "--", "true")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_manifest_has_the_command_and_its_variables(call):
    done = call("--base-image", "example/train:1", "--model-dir", "model", "--explain", "--", "python3", "train.py", "{model_dir}", command="render")
    assert done.returncode == 0, done.stderr
    for line in ("image: example/train:1", "name: TRAINSTEP_MODEL_DIR", "/outputs/model_dir"):
        assert line in done.stdout
    assert "command after --" in done.stdout
    assert "workingDir" not in done.stdout


def test_a_cluster_needs_an_image_for_the_command(call):
    done = call("--", "python3", "train.py", command="render")
    assert done.returncode == 2
    assert "base_image: is missing; pods run the command in an image that has it; pass --base-image IMAGE" in done.stderr


def test_a_recorded_run_is_replayed_without_the_program(call):
    assert call("--record", "run.jsonl", "--", "python3", "-c", "print('loss=0.5'); raise SystemExit(1)").returncode == 1
    (call.here / "train.py").unlink()
    done = call("run.jsonl", command="replay")
    assert done.returncode == 1
    assert "loss=0.5" in done.stdout


def test_a_secret_in_the_command_is_not_shown(call):
    done = call("--report", "report.html", "--record", "run.jsonl", "--", "sh", "-c", "exit 1", "--api-key", "sesame-open-1234")
    assert done.returncode == 1
    for text in (done.stdout, done.stderr, (call.here / "report.html").read_text(), (call.here / "run.jsonl").read_text()):
        assert "sesame-open" not in text
