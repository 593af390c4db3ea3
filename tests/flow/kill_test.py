# SPDX-License-Identifier: Apache-2.0
"""Whoever is killed, no process of the gang is left after 10 s, and verdict and exit code tell what happened."""
import os
import pty
import signal

import pytest
from conftest import until

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
def test_killed_trainstep_leaves_nobody(gang, distribution, ranks, script):
    gang.start(script, distribution).until_said("] ready", ranks)
    os.kill(gang.child(), signal.SIGKILL)
    assert gang.exit_code() == 3
    assert "trainstep was ended by signal 9" in gang.output()
    assert not gang.all()


@KINDS
@pytest.mark.parametrize("script, options", [(READY, {}), (STUBBORN, {})], ids=["ordinary", "stubborn"])
def test_killed_guard_leaves_nobody(gang, distribution, ranks, script, options):
    gang.start(script, distribution, options).until_said("] ready", ranks)
    gang.process.kill()
    gang.assert_gone()
    assert "cancelled" in gang.output()


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


def test_terminal_that_is_closed_is_a_stop(gang):
    """Whoever is the session's first process alone gets the signal: here the guard, as under ssh, docker run -it and xterm -e."""
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


def test_what_the_caller_ignores_and_blocks_is_neither_ours_nor_the_programs(gang):
    """A supervisor that does not wait for its children ignores SIGCHLD, and exec keeps that: nobody would learn of an end."""

    def as_some_supervisors():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1})

    gang.start("grep -E 'Sig(Blk|Ign)' /proc/self/status; exit 7", PYTORCH, preexec_fn=as_some_supervisors)
    assert gang.exit_code() == 1
    assert "exited with code 7" in gang.output()
    assert gang.output().count(":\t0000000000000000") >= 2
    assert not gang.all()


@pytest.mark.parametrize("killed, code", [(False, "130\n"), (True, "")], ids=["cancelled", "killed"])
def test_exit_code_is_written_last_and_not_by_whoever_is_killed(gang, tmp_path, killed, code):
    path = tmp_path / "exit_code"
    path.write_text("0 of an earlier run\n")
    gang.start(READY, PYTORCH, words=["--exit-code-file", path]).until_said("] ready", 3)
    assert path.read_text() == ""
    gang.process.send_signal(signal.SIGKILL if killed else signal.SIGINT)
    gang.exit_code()
    assert path.read_text() == code
    gang.assert_gone()


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
