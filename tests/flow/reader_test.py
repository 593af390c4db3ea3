# SPDX-License-Identifier: Apache-2.0
"""A reader of the log gets every line; a reader that stops reading delays no stop, no limit and no end of the gang."""
import fcntl
import http.server
import json
import os
import pty
import random
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading

import pytest
from conftest import PROGRAM, until
from surroundings import clean_environment

PYTORCH = {"distribution_type": "PyTorch", "number_of_workers": 2}
FLOOD = "echo ready; exec yes 0123456789012345678901234567890123456789"
STUBBORN = "trap '' TERM INT; echo ready; while :; do echo 0123456789012345678901234567890123456789; done"
LINES = 'i=0; while [ $i -lt 40000 ]; do echo "line $i of a program"; i=$((i+1)); done'


def waiting(end):
    """Number of unread bytes in a pipe."""
    return struct.unpack("i", fcntl.ioctl(end, termios.FIONREAD, b"\0" * 4))[0]


class Pipe:
    """The log's pipe. One end is ours; the other the program's, and kept open here, as a parent that has other children would."""

    def __init__(self, nonblocking=False):
        self.read, self.write = os.pipe()
        os.set_blocking(self.write, not nonblocking)

    def until_full(self):
        until(lambda: not select.select([], [self.write], [], 0)[1], "a full pipe")
        return self

    def close(self):
        for end in (self.read, self.write):
            try:
                os.close(end)
            except OSError:
                pass


@pytest.fixture
def pipe():
    made = Pipe()
    yield made
    made.close()


def start(gang, script, stdout, distribution=None, options=None):
    """With stderr in gang.log, as stdout is not."""
    return gang.start(script, distribution or {}, options, stdout=stdout, stderr=gang.log.open("wb"))


def is_pending(pid, number):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"^ShdPnd:\s*(\w+)$", status.read(), re.MULTILINE)[1], 16) >> (number - 1) & 1


def test_sigterm_ends_a_run_whose_log_is_not_read(gang, pipe):
    start(gang, FLOOD, pipe.write, PYTORCH)
    pipe.until_full()
    gang.process.terminate()
    gang.assert_gone()
    assert gang.exit_code() == 143
    assert re.search(r"trainstep: the last \d+ bytes of the log were not read", gang.output())


def test_a_second_interrupt_ends_the_grace_period_although_the_log_is_not_read(gang, pipe):
    start(gang, STUBBORN, pipe.write, PYTORCH, {"run_policy": {"stop_grace": 1000}})
    pipe.until_full()
    program = gang.child()
    os.kill(program, signal.SIGINT)
    until(lambda: not is_pending(program, signal.SIGINT), "the first one taken")  # two that are pending together are one
    os.kill(program, signal.SIGINT)
    gang.assert_gone()
    assert gang.exit_code() == 130


def test_a_limit_ends_a_run_whose_log_is_not_read(gang, pipe):
    start(gang, FLOOD, pipe.write, PYTORCH, {"limits": {"running": 1}})
    gang.assert_gone()
    assert gang.exit_code() == 4


def test_a_gang_whose_guard_was_killed_ends_although_the_log_is_not_read(gang, pipe):
    start(gang, FLOOD, pipe.write, PYTORCH)
    pipe.until_full()
    gang.process.kill()
    gang.assert_gone()


def test_a_killed_program_leaves_no_process_and_its_guard_ends_although_stderr_is_not_read(gang, pipe):
    gang.start(FLOOD, PYTORCH, stdout=pipe.write, stderr=pipe.write)
    pipe.until_full()
    os.kill(gang.child(), signal.SIGKILL)
    gang.assert_gone()
    assert gang.exit_code() == 3


def test_a_program_that_writes_when_it_is_stopped_can_save_although_the_log_is_not_read(gang, pipe):
    save = "trap 'echo saving; touch saved; exit 0' TERM; echo ready; while :; do echo 0123456789012345678901234567890123456789; done"
    start(gang, save, pipe.write, {}, {"run_policy": {"stop_grace": 30}})
    pipe.until_full()
    gang.process.terminate()
    until(lambda: not gang.all(), "everybody gone")
    assert (gang.folder / "run/main/saved").exists()


def test_a_stopped_terminal_stops_no_stop(gang):
    controller, terminal = pty.openpty()
    start(gang, FLOOD, terminal)
    os.read(controller, 1)
    os.write(controller, b"\x13")  # Ctrl-S
    until(lambda: "pipe" in stat_of_writer(gang), "a program that waits in its writing")
    gang.process.terminate()
    gang.assert_gone()
    assert gang.exit_code() == 143
    os.close(controller)
    os.close(terminal)


def stat_of_writer(gang):
    """Where the program in the gang waits in the kernel."""
    try:
        with open(f"/proc/{gang.pid_of('main')}/wchan") as place:
            return place.read()
    except (OSError, ValueError):
        return ""


def read_to_the_end(end, seed, seen):
    """With pauses: some of no bytes, some of many."""
    pauses = random.Random(seed)
    while piece := os.read(end, pauses.choice([1, 17, 4096, 65536])):
        seen.append(piece)
        for _ in range(pauses.choice([0, 0, 0, 20])):
            os.sched_yield()


def arrives_whole(gang, pipe, script, distribution=None):
    start(gang, script, pipe.write, distribution)
    os.close(pipe.write)
    seen = []
    reader = threading.Thread(target=read_to_the_end, args=(pipe.read, 7, seen))
    reader.start()
    assert gang.exit_code() == 0
    reader.join()
    return b"".join(seen).decode()


@pytest.mark.parametrize("nonblocking", [False, True], ids=["blocking", "non-blocking"])
def test_every_line_arrives_through_a_pipe_of_any_kind(gang, nonblocking):
    pipe = Pipe(nonblocking)
    text = arrives_whole(gang, pipe, LINES)
    assert re.findall(r"^\[main\] line (\d+) of a program$", text, re.MULTILINE) == [str(i) for i in range(40000)]
    assert re.search(r"^\[trainstep\] .*: succeeded$", text, re.MULTILINE)
    pipe.close()


@pytest.mark.parametrize("nonblocking", [False, True], ids=["blocking", "non-blocking"])
def test_the_pipe_stays_as_its_owner_left_it(gang, nonblocking):
    pipe = Pipe(nonblocking)
    before = fcntl.fcntl(pipe.write, fcntl.F_GETFL)
    start(gang, "echo ready; while [ ! -e go ]; do sleep 0.02; done", pipe.write)
    until(lambda: waiting(pipe.read) > 0, "the first line")
    assert fcntl.fcntl(pipe.write, fcntl.F_GETFL) == before
    until(lambda: (gang.folder / "run/main").exists(), "the replica's folder")
    (gang.folder / "run/main/go").touch()
    assert gang.exit_code() == 0
    assert fcntl.fcntl(pipe.write, fcntl.F_GETFL) == before
    pipe.close()


def test_who_begins_to_read_late_gets_every_line(gang, pipe):
    start(gang, "head -c 3000000 /dev/zero | tr '\\0' '\\n'", pipe.write)
    pipe.until_full()
    os.close(pipe.write)
    seen = []
    read_to_the_end(pipe.read, 3, seen)
    assert b"".join(seen).count(b"[main] \n") == 3_000_000
    assert gang.exit_code() == 0


def test_a_reader_that_disconnects_does_not_end_the_training(gang, pipe):
    start(gang, "yes line | head -n 200000; touch ended", pipe.write)
    pipe.until_full()
    pipe.close()
    assert gang.exit_code() == 0
    assert (gang.folder / "run/main/ended").exists()


def test_a_full_disk_is_reported_once_and_does_not_end_the_training(gang):
    with open("/dev/full", "wb") as full:
        start(gang, LINES, full)
    assert gang.exit_code() == 0
    assert gang.output().count("trainstep: cannot write the log: No space left on device") == 1


def test_a_table_and_a_manual_arrive_whole_through_a_non_blocking_pipe(tmp_path):
    pipe = Pipe(nonblocking=True)
    fcntl.fcntl(pipe.read, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen([PROGRAM, "man"], stdout=pipe.write, stdin=subprocess.DEVNULL)
    os.close(pipe.write)
    seen = []
    read_to_the_end(pipe.read, 1, seen)
    assert process.wait(60) == 0
    assert b"".join(seen) == subprocess.run([PROGRAM, "man"], capture_output=True, check=True).stdout
    pipe.close()


def test_a_bar_is_shown_as_it_changes_on_a_terminal_and_once_in_a_file(gang):
    bar = r"printf '\r 10%%|#   |'; while [ ! -e on ]; do sleep 0.02; done; printf '\r100%%|####|\n'"
    controller, terminal = pty.openpty()
    start(gang, bar, terminal)
    seen = b""
    while b"10%|#   |" not in seen:  # before the line has ended
        seen += os.read(controller, 4096)
    (gang.folder / "run/main/on").touch()
    while b"[main] 100%|####|\r\n" not in seen:
        seen += os.read(controller, 4096)
    os.close(terminal)
    assert gang.exit_code() == 0
    os.close(controller)


def test_a_program_that_asks_at_the_terminal_finds_none_and_is_not_stopped(tmp_path):
    controller, terminal = pty.openpty()
    specification = json.dumps({"image": "none", "command": ["sh", "-c", "read answer </dev/tty || echo nobody to ask; stty raw </dev/tty; true"]})
    words = [PROGRAM, "run", "--cluster", "local", "--run-dir", tmp_path / "run", "--train-specification", specification]
    process = subprocess.Popen(
        words,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    try:
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(terminal)
        os.close(controller)
    assert process.returncode == 0, output
    assert "[main] nobody to ask" in output


def test_a_bar_is_one_line_in_a_file(gang):
    gang.start(r"for i in 1 2 3 4 5; do printf '\r %s0%%|' $i; done; printf '\n'; printf '\033[2J\033[Adone\n'", {})
    assert gang.exit_code() == 0
    assert [line for line in gang.output().splitlines() if line.startswith("[main]")] == ["[main]  50%|", "[main] done"]


@pytest.mark.parametrize("level, shown", [("warning", 0), ("error", 0), ("info", 1), ("debug", 1)])
def test_each_level_shows_what_it_says(tmp_path, level, shown):
    specification = json.dumps({"image": "none", "command": ["sh", "-c", "echo printed; exit 3"]})
    words = [PROGRAM, "run", "--cluster", "local", "--run-dir", tmp_path / "run", "--train-specification", specification, "--log-level", level]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("[main] printed\n") == shown
    assert done.stdout.count("running\n") == shown
    assert "first failure: main exited with code 3" in done.stdout
    assert ('member_ended {"member":0,"ending":{"exit_code":3}}: ' in done.stdout) == (level == "debug")


def test_untrusted_text_does_not_start_a_log_line(tmp_path):
    name = "no\n[trainstep]  0:00  succeeded\x1b[2J"
    specification = json.dumps({"image": "none", "command": [name]})
    done = subprocess.run([PROGRAM, "run", "--cluster", "local", "--train-specification", specification], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert not re.search(r"^\[trainstep\]  0:00  succeeded", done.stdout + done.stderr, re.MULTILINE)
    assert "\x1b" not in done.stdout + done.stderr
    assert r"no\n[trainstep]  0:00  succeeded\x1b[2J" in done.stdout + done.stderr


def kubeconfig(folder, port):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {}}],
    }
    (folder / "config").write_text(json.dumps(config))
    return {**clean_environment(), "KUBECONFIG": str(folder / "config")}


@pytest.mark.parametrize("command", ["run", "list"])
def test_an_api_server_that_does_not_answer_is_named_after_some_seconds(tmp_path, command):
    silent = socket.create_server(("127.0.0.1", 0))
    specification = json.dumps({"image": "none", "command": ["true"]})
    words = [PROGRAM, "run", "--cluster", "kubernetes", "--train-specification", specification] if command == "run" else [PROGRAM, "list"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(words, env=kubeconfig(tmp_path, silent.getsockname()[1]), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    wanted = f"waiting for the API server http://127.0.0.1:{silent.getsockname()[1]}: no answer for 5"
    until(lambda: wanted in (tmp_path / "log").read_text(), wanted)
    process.kill()
    process.wait()


def test_requests_are_shown_without_their_query_at_level_debug(tmp_path):
    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(403)

        do_POST = do_GET

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    specification = json.dumps({"image": "none", "command": ["true"]})
    words = [PROGRAM, "run", "--cluster", "kubernetes", "--train-specification", specification, "--log-level", "debug"]
    done = subprocess.run(words, env=kubeconfig(tmp_path, server.server_port), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    server.shutdown()
    assert done.returncode == 2
    assert re.search(rf"^\[trainstep\] +0:\d\d  (GET|POST) http://127.0.0.1:{server.server_port}/\S+: 403 in \d+ ms$", done.stdout, re.MULTILINE)
    assert "?" not in re.sub(r"(?m)^(?!.* ms$).*$", "", done.stdout)
