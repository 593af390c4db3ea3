# SPDX-License-Identifier: Apache-2.0
"""Whichever process is killed, no process of the gang is left after 10 s, and verdict and exit code say what happened."""
import os
import pathlib
import pty
import re
import shlex
import signal
import subprocess
import termios

import pytest
from conftest import PROGRAM, until
from surroundings import clean_environment

PYTORCH = {"distribution_type": "PyTorch", "number_of_workers": 3}
MPI = {"distribution_type": "MPI", "number_of_workers": 2}
JOB = {}
READY = "echo ready; while :; do sleep 0.05; done"
# Ignores SIGTERM, has a daemon in a session of its own that ignores it too, and a child in its group.
STUBBORN = "trap '' TERM INT HUP; setsid sleep 1000 & sleep 1000 & echo ready; while :; do sleep 0.05; done"
SHORT_GRACE = {"run_policy": {"stop_grace": 1}}
KINDS = pytest.mark.parametrize("distribution, ranks", [(JOB, 1), (PYTORCH, 3), (MPI, 2)], ids=["Job", "PyTorch", "MPI"])


@pytest.mark.parametrize("member", ["master-0", "worker-1"])
@pytest.mark.parametrize("script, options", [(READY, {}), (STUBBORN, {})], ids=["ordinary", "stubborn"])
def test_killed_replica_is_named_and_the_others_are_stopped(gang, member, script, options):
    gang.start(script, PYTORCH, options).until_said("] ready", 3)
    os.kill(gang.pid_of(member), signal.SIGKILL)
    assert gang.exit_code() == 1
    assert f"{member} was killed by SIGKILL" in gang.output()
    gang.assert_gone()


def test_killed_mpirun_ends_its_ranks(gang):
    gang.start(READY, MPI).until_said("] ready", 2)
    os.kill(gang.pid_of("launcher"), signal.SIGKILL)
    assert gang.exit_code() == 1
    assert "launcher was killed by SIGKILL" in gang.output()
    gang.assert_gone()


def test_killed_rank_is_named(gang):
    gang.start(READY, MPI).until_said("] ready", 2)
    os.kill(gang.pid_of("worker-1"), signal.SIGKILL)
    assert gang.exit_code() == 1
    assert "first failure: worker-1 was killed by SIGKILL" in gang.output()
    gang.assert_gone()


@KINDS
@pytest.mark.parametrize("script", [READY, STUBBORN], ids=["ordinary", "stubborn"])
def test_killed_trainstep_leaves_no_process(gang, distribution, ranks, script):
    gang.start(script, distribution).until_said("] ready", ranks)
    os.kill(gang.child(), signal.SIGKILL)
    assert gang.exit_code() == 3
    assert "trainstep was killed by signal 9" in gang.output()
    assert not gang.all()


@KINDS
@pytest.mark.parametrize("script, options", [(READY, {}), (STUBBORN, {})], ids=["ordinary", "stubborn"])
def test_killed_guard_leaves_no_process(gang, distribution, ranks, script, options):
    gang.start(script, distribution, options).until_said("] ready", ranks)
    gang.process.kill()
    gang.assert_gone()
    assert "trainstep's first process was killed by SIGKILL (9), from outside or out of memory: cancelling the training" in gang.output()
    assert "cancelled by SIGKILL (9)" in gang.output()
    assert "SIGTERM" not in gang.output()


@KINDS
def test_killed_process_group_leaves_no_process_and_no_folder(gang, distribution, ranks):
    """As `timeout -s KILL` and a shell's `kill -9 %1` do."""
    gang.start('echo "in $TMPDIR"; setsid sleep 1000 & ' + READY, distribution, preexec_fn=os.setpgrp).until_said("] ready", ranks)
    folder = re.search(r"] in (.*)", gang.output())[1]
    assert os.path.isdir(folder)
    os.killpg(gang.process.pid, signal.SIGKILL)
    gang.assert_gone()
    assert not os.path.exists(folder)


def test_a_program_that_stops_trainstep_does_not_stop_its_end(gang):
    gang.start("kill -STOP $PPID; exit 7")
    assert gang.exit_code() == 1
    assert "exited with code 7" in gang.output()


def test_a_program_that_stops_trainstep_does_not_stop_a_cancel(gang):
    gang.start("while :; do kill -STOP $PPID; echo ready; sleep 0.05; done").until_said("] ready")
    gang.process.terminate()
    assert gang.exit_code() == 143
    assert not gang.all()


@KINDS
@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGINT", "SIGHUP"])
def test_stop_signal_cancels(gang, distribution, ranks, number, code):
    gang.start(READY, distribution).until_said("] ready", ranks)
    gang.process.send_signal(number)
    assert gang.exit_code() == code
    assert "cancelled" in gang.output()
    assert not gang.all()


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"])
def test_stop_signal_leaves_time_to_save(gang, number, code):
    save = "trap 'sleep 0.5; echo saved; exit 0' TERM; " + READY
    gang.start(save, PYTORCH).until_said("] ready", 3)
    gang.process.send_signal(number)
    assert gang.exit_code() == code
    assert gang.output().count("] saved") == 3


def test_those_who_ignore_the_signal_are_killed_after_the_grace(gang):
    gang.start(STUBBORN, PYTORCH, SHORT_GRACE).until_said("] ready", 3)
    gang.process.terminate()
    assert gang.exit_code() == 143
    assert not gang.all()


AFTER_SUCCESS = {  # the primary has exited with 0; what is left has to be waited for
    "other replicas": '[ $RANK = 0 ] && { echo w >$TRAINSTEP_MODEL_DIR; echo done $$; exit 0; }; trap "sleep 0.5; echo saved; exit 0" TERM; ' + READY,
    "its processes": 'echo w >$TRAINSTEP_MODEL_DIR; setsid sleep 1000 & echo done $$',
}


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("rest", AFTER_SUCCESS)
def test_a_stop_after_the_primarys_success_cancels_and_says_where_the_model_is(gang, rest, number, code):
    words = ["-n", "2", "--type", "PyTorch"] if rest == "other replicas" else []
    environment = dict([gang.mark.split("=")])
    gang.process = subprocess.Popen(
        [PROGRAM, "run", *words, "--model-dir", "model", "--", "sh", "-c", AFTER_SUCCESS[rest]], cwd=gang.folder,
        env={**clean_environment(), **environment}, stdin=subprocess.DEVNULL, stdout=gang.log.open("wb"), stderr=subprocess.STDOUT,
    )
    primary = re.search(r"] done (\d+)", gang.until_said("] done").output())[1]
    if words:
        gang.until_said("] ready")
    until(lambda: not pathlib.Path(f"/proc/{primary}").exists(), "the end of the primary")
    gang.process.send_signal(number)
    assert gang.exit_code() == code
    assert f"{number.name} ({number.value}) received: " in gang.output()
    kept = re.search(r"model_dir: the program's output is in (\S+) until the next run", gang.output())
    assert kept and pathlib.Path(kept[1]).read_text() == "w\n", gang.output()
    assert not (gang.folder / "model").exists()
    if words:
        assert "] saved" in gang.output()
    gang.assert_gone()


def test_interrupt_from_the_terminal_arrives_once(gang, tmp_path):
    """The terminal signals the whole foreground group; passed on once more by the guard it would be a second one, which ends the grace."""
    save = "trap 'sleep 0.5; echo saved; exit 0' TERM; " + READY
    controller, terminal = pty.openpty()

    def take_terminal():
        os.setsid()
        os.close(os.open(os.ttyname(terminal), os.O_RDWR))  # a session's first terminal becomes its own

    gang.start(save, PYTORCH, preexec_fn=take_terminal, stdin=terminal).until_said("] ready", 3)
    os.write(controller, b"\x03")
    assert gang.exit_code() == 130
    assert gang.output().count("] saved") == 3
    assert gang.output().count("SIGINT (2) received") == 1
    os.close(controller)
    os.close(terminal)


def test_interrupt_for_the_group_arrives_once(gang):
    save = "trap 'sleep 0.5; echo saved; exit 0' TERM; " + READY
    gang.start(save, PYTORCH, preexec_fn=os.setpgrp).until_said("] ready", 3)
    os.killpg(gang.process.pid, signal.SIGINT)
    assert gang.exit_code() == 130
    assert gang.output().count("] saved") == 3


def stat(pid):
    """state, parent, …"""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def guard_and_program(gang):
    """The first process and its child; a replica bears the program's words, too, until it is executed."""
    parents = {pid: int(stat(pid)[1]) for pid, words in gang.all().items() if words.startswith(f"{PROGRAM} run")}
    return [(parent, pid) for pid, parent in parents.items() if parent in parents and parents[parent] not in parents]


def below_a_shell(words, **how):
    """With job control."""
    return subprocess.Popen(["bash", "-mc", f"{shlex.join(map(str, words))}; touch paused; until [ -e go ]; do sleep 0.05; done; fg >/dev/null"], **how)


def test_ctrl_z_pauses_and_fg_resumes(gang):
    """On a terminal that stops background processes that write to it (tostop)."""
    controller, terminal = pty.openpty()
    settings = termios.tcgetattr(terminal)
    settings[3] |= termios.TOSTOP
    termios.tcsetattr(terminal, termios.TCSANOW, settings)

    def take_terminal():
        os.setsid()
        os.close(os.open(os.ttyname(terminal), os.O_RDWR))

    script = "until [ -e end ]; do sleep 0.05; done; echo ended"
    gang.start(script, begin=below_a_shell, preexec_fn=take_terminal, stdin=terminal, stdout=terminal, stderr=terminal)
    [pair] = until(lambda: guard_and_program(gang), "a running step")
    until((gang.folder / "run/main").exists, "the replica's folder")
    os.write(controller, b"\x1a")
    until((gang.folder / "paused").exists, "the shell's turn")
    assert [stat(pid)[0] for pid in pair] == ["T", "T"]
    (gang.folder / "go").touch()
    until(lambda: "T" not in [stat(pid)[0] for pid in pair], "guard and program go on")
    (gang.folder / "run/main/end").touch()
    seen = b""
    while b"[main] ended\r\n" not in seen or b": succeeded" not in seen:
        seen += os.read(controller, 4096)
    assert gang.exit_code() == 0
    os.close(terminal)
    os.close(controller)


def test_terminal_that_is_closed_is_a_stop(gang):
    """Only the session leader gets the signal: here the guard, as under ssh, docker run -it and xterm -e."""
    controller, terminal = pty.openpty()

    def take_terminal():
        os.setsid()
        os.close(os.open(os.ttyname(terminal), os.O_RDWR))

    gang.start(READY, PYTORCH, preexec_fn=take_terminal, stdin=terminal).until_said("] ready", 3)
    os.close(terminal)
    os.close(controller)
    assert gang.exit_code() == 129
    assert "SIGHUP (1) received" in gang.output()
    assert not gang.all()


def test_signals_ignored_and_blocked_by_the_caller_affect_neither_us_nor_the_program(gang):
    """A supervisor that does not wait for its children ignores SIGCHLD, and exec keeps that: no end would be noticed."""

    def as_some_supervisors():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1})

    gang.start("grep -E 'Sig(Blk|Ign)' /proc/self/status; exit 7", PYTORCH, preexec_fn=as_some_supervisors)
    assert gang.exit_code() == 1
    assert "exited with code 7" in gang.output()
    assert gang.output().count(":\t0000000000000000") >= 2
    assert not gang.all()


@pytest.mark.parametrize("killed, code", [(False, "130\n"), (True, "")], ids=["cancelled", "killed"])
def test_exit_code_is_written_last_and_not_by_a_killed_run(gang, tmp_path, killed, code):
    path = tmp_path / "exit_code"
    path.write_text("0\n")  # of an earlier run
    gang.start(READY, PYTORCH, words=["--exit-code-file", path]).until_said("] ready", 3)
    assert path.read_text() == ""
    gang.process.send_signal(signal.SIGKILL if killed else signal.SIGINT)
    gang.exit_code()
    gang.assert_gone()  # no process can still write to it
    assert path.read_text() == code


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_cancel_before_anything_has_begun_is_in_the_file_of_the_exit_code(tmp_path, number, code):
    path = tmp_path / "exit_code"
    os.mkfifo(tmp_path / "specification")  # it has no writer: the step waits for its inputs
    words = ["run", "--exit-code-file", str(path), "--train-specification", f"@{tmp_path}/specification"]
    process = subprocess.Popen([PROGRAM, *words], preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    until(path.exists, "the file of the exit code")
    process.send_signal(number)
    assert process.wait(timeout=60) == code
    assert path.read_text() == f"{code}\n"


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGXCPU, signal.SIGPWR, signal.SIGUSR1, signal.SIGABRT, signal.SIGRTMIN])
def test_any_signal_that_would_end_a_program_ends_the_gang(gang, tmp_path, number):
    """`perl -e 'alarm 60; exec @ARGV'`, `ulimit -t`."""
    path = tmp_path / "exit_code"
    gang.start(STUBBORN, PYTORCH, words=["--exit-code-file", path]).until_said("] ready", 3)
    gang.process.send_signal(number)
    assert gang.exit_code() == 3
    assert f"trainstep was killed by signal {number.value} (" in gang.output()
    assert path.read_text() == "3\n"
    assert not gang.all()


def test_signals_that_are_not_stop_requests_are_ignored(gang):
    gang.start("grep SigIgn /proc/self/status; echo ready; while [ ! -e ../../end ]; do sleep 0.05; done").until_said("] ready")
    for number in (signal.SIGPROF, signal.SIGVTALRM, signal.SIGIO, signal.SIGPIPE):
        gang.process.send_signal(number)
        os.kill(gang.child(), number)
    (gang.folder / "end").touch()
    assert gang.exit_code() == 0
    assert "SigIgn:\t0000000000000000\n" in gang.output()


def test_ended_by_the_limit(gang):
    gang.start(STUBBORN, PYTORCH, {**SHORT_GRACE, "limits": {"running": 1}})
    assert gang.exit_code() == 4
    assert not gang.all()


def test_killed_while_packages_are_looked_for(gang, tmp_path):
    """Setting up is part of the run: what it started ends too."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").write_text("#!/bin/sh\ntouch started\nsleep 1000\n")
    (tools / "python3").chmod(0o755)
    installer = "python3 -m pip install --quiet 'x' && \"$0\" \"$@\""
    gang.start(installer, JOB, after=["true"], path=f"{tools}:{os.environ['PATH']}")
    until(lambda: (tmp_path / "run/started").exists(), "the query")
    gang.process.terminate()
    assert gang.exit_code() == 143
    assert not gang.all()
