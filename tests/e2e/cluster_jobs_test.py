# SPDX-License-Identifier: Apache-2.0
"""list, attach, logs and stop: commands of a user at a shell on runs started by other steps."""
import json
import re
import subprocess

import pytest
from cluster import ROOT
from cluster_cells import Step
from guide_pages import cluster_commands
from waiting import until

CLUSTER = {}
LOG = {"log": "epoch=1 accuracy=0.5\nepoch=2 accuracy=0.9", "log-every-ms": "300", "worker-0.fate/log": "I am the worker"}


class Shell:
    """A step of a namespace that runs, and commands beside it."""

    def __init__(self, step):
        self.step = step
        self.environment = {"KUBECONFIG": str(step.space.kubeconfig), "HOME": str(step.tmp), "NO_COLOR": "1"}

    def __call__(self, command, *words, timeout=60):
        """(exit code, output, errors)"""
        words = [str(self.step.program), command, "--namespace", self.step.space.name, *map(str, words)]
        done = subprocess.run(words, env=self.environment, cwd=self.step.tmp, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
        assert self.step.space.token not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    def job_name(self):
        return self.step.job()["metadata"]["name"]


@pytest.fixture
def shell(cluster, namespace, program, tmp_path):
    return Shell(Step(cluster, program, namespace, "PyTorch", tmp_path))


def begin(shell, options=None, **fates):
    process = shell.step.start(fates={**LOG, **{name.replace("_", "-"): value for name, value in fates.items()}}, options=options)
    shell.step.running()
    return process


def test_list_shows_each_job_with_its_state(shell):
    assert shell("list")[1].split() == ["RUN", "KIND", "JOB", "STATE", "SINCE"]
    process = begin(shell, run_ms="5000")
    row = lambda: shell("list")[1].splitlines()[1].split()[:4]  # noqa: E731
    until(lambda: row() == ["cell", "PyTorch", shell.job_name(), "running"], "the operator says that the job runs")
    assert shell.step.end(process).code == 0


@pytest.mark.parametrize("replica, lines", [((), ["epoch=1 accuracy=0.5", "epoch=2 accuracy=0.9"]), (("worker-0",), ["I am the worker"])])
def test_logs_prints_one_replica_to_its_end(shell, replica, lines):
    # The worker ends first: one that still runs at the master's end is deleted, and its log is gone.
    process = begin(shell, {"cleanup": "never"}, run_ms="4000", **{"worker-0.fate/run-ms": "2000"})
    code, output, _ = shell("logs", "cell", *replica)
    assert code == 0
    assert [line.partition("] ")[2] for line in output.splitlines()] == lines
    assert shell.step.end(process).code == 0


@pytest.mark.parametrize("exit_code, expected", [("0", 0), ("3", 1)])
def test_attach_follows_to_the_end_and_collects(shell, tmp_path, exit_code, expected):
    process = begin(shell, run_ms="4000", exit_code=exit_code)
    metrics, report = tmp_path / "metrics.json", tmp_path / "report.html"
    code, output, _ = shell("attach", "cell", "--metrics", metrics, "--report", report)
    assert code == expected, output
    assert "epoch=2 accuracy=0.9" in output
    assert json.loads(metrics.read_text())["accuracy"] == 0.9
    assert "<svg" in report.read_text()
    assert shell.step.end(process).code == expected


def test_attach_finds_the_run_by_its_jobs_name_too(shell):
    process = begin(shell, run_ms="3000")
    assert shell("attach", shell.job_name())[0] == 0
    assert shell.step.end(process).code == 0


def test_stop_deletes_the_job_and_waits_for_its_pods(shell):
    process = begin(shell, run_ms="forever")
    job = shell.job_name()
    code, output, _ = shell("stop", "cell")
    assert (code, output) == (0, f"pytorchjobs/{job} and its pods are deleted\n")
    ended = shell.step.end(process)
    assert ended.code == 3
    assert "was deleted by another client" in ended.output
    assert (ended.jobs, ended.pods) == ([], [])


def examples_of(shell, command):
    """Those of its --help, for this namespace and run."""
    told = subprocess.run([shell.step.program, command, "--help"], capture_output=True, text=True, check=True).stdout.partition("Examples:")[2]
    return re.findall(r"^  (trainstep (?:.*\\\n)*.*)$", told.replace("team-a", shell.step.space.name).replace("my-run", "cell"), re.MULTILINE)


def run_example(shell, command):
    """Its output."""
    (shell.step.tmp / "samples").exists() or (shell.step.tmp / "samples").symlink_to(ROOT / "samples")
    environment = {**shell.environment, "PATH": "/usr/bin:/bin"}
    words = ["bash", "-euc", f'trainstep() {{ {shell.step.program} "$@"; }}; {command}']
    done = subprocess.run(words, env=environment, cwd=shell.step.tmp, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def all_work(shell, check, listing, logs, attach, stop):
    assert "would be accepted as pytorchjobs" in run_example(shell, check)
    process = begin(shell, {"cleanup": "never"}, run_ms="4000", **{"worker-1.fate/run-ms": "2000"})
    until(lambda: "running" in run_example(shell, listing), "the operator says that the job runs")
    assert "] epoch=2 accuracy=0.9" in run_example(shell, logs)
    assert re.search(r"report: \w+\.html", run_example(shell, attach))
    assert shell.step.end(process).code == 0
    assert "are deleted" in run_example(shell, stop)


def test_examples_of_help_work(shell):
    (check,) = examples_of(shell, "check")
    at_work = examples_of(shell, "list")
    assert [examples_of(shell, command) for command in ("logs", "attach", "stop")] == 3 * [at_work]
    all_work(shell, check, *at_work)


def test_commands_of_the_guide_work(shell):
    run, *others = [command.replace("team-a", shell.step.space.name).replace("RUN", "cell") for command in cluster_commands()]
    assert re.search(r"\(PyTorch, 3 workers\) after \S+ s: succeeded", run_example(shell, run))
    all_work(shell, *others)


@pytest.mark.parametrize("command", ["attach", "logs", "stop"])
def test_an_unknown_run_is_reported(shell, command):
    code, _, errors = shell(command, "nobody")
    assert code != 0
    assert f'no job of run "nobody" in namespace {shell.step.space.name}; see trainstep list' in errors


def test_logs_of_a_replica_that_is_not_there(shell):
    process = begin(shell, run_ms="3000")
    code, _, errors = shell("logs", "cell", "worker-7")
    assert code != 0
    assert "has no pod for worker-7" in errors
    assert shell.step.end(process).code == 0


def test_attach_refuses_outputs_that_cannot_be_written_before_it_waits(shell, tmp_path):
    (tmp_path / "folder").mkdir()
    code, _, errors = shell("attach", "cell", "--report", tmp_path / "folder")
    assert code == 2
    assert "report" in errors
