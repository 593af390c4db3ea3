# SPDX-License-Identifier: Apache-2.0
"""Unusual environments and programs: no crash, no false report, nothing left behind, no secret shown."""
import fcntl
import html
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest
from conftest import PROGRAM, ROOT, until
from surroundings import clean_environment

ENVIRONMENT = clean_environment()
EPOCHS = "for i in 1 2 3; do echo epoch=$i/3 loss=0.$i; sleep 0.3; done"


def program(script):
    return ["--train-specification", json.dumps({"image": "none", "command": ["sh", "-c", script]})]


def component(script, **outputs):
    """A v1 component whose script gets the paths of its outputs as $0, $1, …"""
    words = ["sh", "-c", script, *({"outputPath": name} for name in outputs)]
    declared = [{"name": name, "type": kind} for name, kind in outputs.items()]
    return ["--train-specification", json.dumps({"outputs": declared, "implementation": {"container": {"image": "none", "command": words}}})]


@pytest.fixture
def run(tmp_path):
    def call(*words, wrapper='exec "$@"', env=None, cwd=tmp_path):
        """`wrapper`: a shell text that runs "$@"."""
        argv = ["bash", "-c", wrapper, "bash", PROGRAM, "run", *words]
        return subprocess.run(argv, cwd=cwd, env={**ENVIRONMENT, **(env or {})}, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)

    return call


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full", ">/dev/full 2>&1"])
def test_closed_or_full_streams_do_not_touch_the_training(run, tmp_path, closed):
    script = "cat; echo loss=0.5; echo warning >&2; echo well >" + str(tmp_path / "written")
    done = run(*program(script), "--metrics", "metrics.json", "--report", "report.html", wrapper=f'exec "$@" {closed}')
    assert done.returncode == 0
    assert (tmp_path / "written").read_text() == "well\n"
    assert json.loads((tmp_path / "metrics.json").read_text()) == {"loss": 0.5}
    assert "Succeeded" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("target, wrapper", [("/dev/fd/7", 'exec 7>>log; exec "$@"'), ("/dev/stdout", 'exec "$@" >>log'), ("/proc/self/fd/1", 'exec "$@" >>log')])
def test_metrics_to_an_open_file_are_appended_to_it(run, tmp_path, target, wrapper):
    (tmp_path / "log").write_text("before\n")
    done = run(*program("echo loss=1"), "--metrics", target, wrapper=wrapper)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "log").read_text()
    assert text.startswith("before\n")
    assert [json.loads(found) for found in re.findall(r"^{.*?^}$", text, re.MULTILINE | re.DOTALL)] == [{"loss": 1}]
    assert target == "/dev/fd/7" or "loss=1" in text


def test_what_is_open_already_takes_several_outputs_and_the_record(run, tmp_path):
    (tmp_path / "log").write_text("before\n")
    words = ["--metrics", "/dev/stdout", "--results", "/dev/stdout", "--record", "/dev/stdout"]
    done = run(*program("echo loss=1"), *words, wrapper='exec "$@" >>log')
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "log").read_text()
    assert text.startswith("before\n")
    assert [json.loads(found) for found in re.findall(r"^{$.*?^}$|^{}$", text, re.MULTILINE | re.DOTALL)] == [{"loss": 1}, {}]
    assert '"event":"end"' in text and "loss=1" in text
    refused = run(*program("echo loss=1"), "--exit-code-file", "/dev/stdout", wrapper='exec "$@" >>log')
    assert refused.returncode == 2 and b"/dev/stdout is the log" in refused.stderr


def test_a_reader_that_leaves_does_not_end_the_training(run, tmp_path):
    done = run(*program("seq 300000; echo loss=1"), "--metrics", "metrics.json", wrapper='"$@" | head -1; exit ${PIPESTATUS[0]}')
    assert done.returncode == 0
    assert json.loads((tmp_path / "metrics.json").read_text()) == {"loss": 1}


def test_a_flag_with_an_empty_value_counts_as_not_given(run, tmp_path):
    told = run(*component('printf m >"$0"; echo to=$TENSORBOARD_S3_ADDRESS', model_dir="Model"),
               "--base-image=", "--model_dir=model", "--tensorboard-s3-address=", "--report=report.html", "--memory=")  # fmt: skip
    assert told.returncode == 0
    assert (tmp_path / "model").read_text() == "m"
    assert (tmp_path / "report.html").exists()
    assert "to=\n" in told.stdout.decode()


def test_a_message_shows_no_secret_that_it_quotes(run):
    for words in (["--memory=token=hunter22"], ["HF_TOKEN=hunter22"], ["--job-options", '{"environment": {"HF_TOKEN=hunter22": ""}}'],
                  ["--train-parameters", '{"api_key=hunter22": 1}'], ["--run-id=token=hunter22"], ["--log-level=token=hunter22"]):  # fmt: skip
        told = run(*program("true"), *words)
        assert told.returncode == 2
        assert b"hunter22" not in told.stderr + told.stdout
        assert b"[redacted]" in told.stderr or b"(not shown)" in told.stderr, words


@pytest.mark.parametrize(
    "words, code",
    [
        ("render 2>&-", 2),
        ("nonsense 2>&-", 2),
        ("run --help >/dev/full", 3),
        ("--version >/dev/full", 3),
        ("render --train-specification @$TF >/dev/full", 3),
        ("render --train-specification @$TF >&-", 3),
        ("render --train-specification @$TF | head -1 >/dev/null; exit ${PIPESTATUS[0]}", 0),
    ],
)
def test_a_failure_that_cannot_be_printed_has_an_exit_code(words, code):
    shell = f'"$TRAINSTEP" {words}'
    environment = {**ENVIRONMENT, "TRAINSTEP": str(PROGRAM), "TF": str(ROOT / "samples/tf/train_specification.v1.yaml")}
    assert subprocess.run(["bash", "-c", shell], env=environment, capture_output=True, timeout=60).returncode == code


@pytest.mark.parametrize(
    "wrapper",
    ['exec env -i "$@"', 'unset HOME TERM PATH; exec "$@"', "export ODD=$'\\xff\\xfe' TERM=; exec \"$@\"", 'export ARGO_PROGRESS_FILE=/proc/none/x; exec "$@"'],
    ids=["empty environment", "no HOME, TERM and PATH", "not UTF-8", "progress file that cannot be written"],
)
def test_odd_environments(run, wrapper):
    done = run("--train-specification", json.dumps({"image": "none", "command": ["/bin/sh", "-c", "echo epoch=1/2; echo epoch=2/2; echo [$ODD]"]}), wrapper=wrapper)
    assert done.returncode == 0, done.stdout + done.stderr
    assert b"[main] [" + (b"\xff\xfe" if "ODD" in wrapper else b"") + b"]\n" in done.stdout


def test_progress_is_written_only_where_a_file_can_be(run, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for place, written in (("fifo", False), ("folder", False), ("none/progress", False), ("folder/progress", True)):
        path = tmp_path / place
        assert run(*program("echo epoch=1/2; echo epoch=2/2"), env={"ARGO_PROGRESS_FILE": path}).returncode == 0
        assert path.is_file() == written
    assert (tmp_path / "folder/progress").read_text() == "2/2"
    assert (tmp_path / "fifo").is_fifo() and not (tmp_path / "none").exists()


def test_file_names_that_are_not_utf8(run, tmp_path):
    done = run(*program("echo loss=1"), "--report", b"r\xff.html", "--metrics", b"m\xff.json", "--log-format", "json")
    assert done.returncode == 0
    assert (tmp_path / os.fsdecode(b"m\xff.json")).is_file()
    for line in done.stdout.decode("utf-8").rstrip("\n").split("\n"):
        json.loads(line)


def test_a_working_directory_that_is_gone(run, tmp_path):
    done = run(*program("true"), wrapper='mkdir gone; cd gone; rmdir ../gone; exec "$@"')
    assert done.returncode == 2
    assert done.stderr == b"trainstep: the working directory no longer exists; change to another one\n"


def test_two_runs_do_not_share_a_folder(run, tmp_path):
    words = [PROGRAM, "run", "--run-dir", "shared", "--run-id", "a", *program(f"touch {tmp_path}/begun; while [ ! -e {tmp_path}/end ]; do sleep 0.05; done")]
    first = subprocess.Popen(words, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE)
    try:
        until((tmp_path / "begun").exists, "the first run")
        second = run("--run-dir", "shared", "--run-id", "a", *program("touch ../../second"))
        assert second.returncode == 2
        assert b"another run is using" in second.stdout
        assert not (tmp_path / "second").exists()
    finally:
        (tmp_path / "end").touch()
    assert b"succeeded" in first.communicate(timeout=60)[0]
    assert first.returncode == 0
    assert run("--run-dir", "shared", "--run-id", "a", *program("true")).returncode == 0


@pytest.mark.parametrize("flag", ["--record", "--exit-code-file"])
def test_two_runs_do_not_write_one_file(run, tmp_path, flag):
    words = [PROGRAM, "run", flag, "file", *program(f"touch {tmp_path}/begun; while [ ! -e {tmp_path}/end ]; do sleep 0.05; done")]
    first = subprocess.Popen(words, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE)
    try:
        until((tmp_path / "begun").exists, "the first run")
        (tmp_path / "link").symlink_to("file")
        before = (tmp_path / "file").read_bytes()
        second = run(flag, "link", *program(f"touch {tmp_path}/second"))
        assert second.returncode == 2
        assert f"{flag}: another run is writing link; choose another file".encode() in second.stdout + second.stderr
        assert (tmp_path / "file").read_bytes().startswith(before) and not (tmp_path / "second").exists()
    finally:
        (tmp_path / "end").touch()
    assert b"succeeded" in first.communicate(timeout=60)[0]
    written = [json.loads(line) for line in (tmp_path / "file").read_text().splitlines()]
    assert written == [0] or ("trainstep" in written[0] and written[-1]["event"] == "end")
    assert run(flag, "file", *program("true")).returncode == 0


@pytest.mark.parametrize(
    "script, outputs, said",
    [
        ("true", {"model_dir": "Model"}, "model_dir: the program wrote nothing to"),
        ("ln -s /nowhere $0", {"model_dir": "Model"}, "model_dir: the program wrote nothing to"),
        ("true", {"accuracy": "Float"}, "output accuracy: the program succeeded, but did not write its value"),
        ("echo high >$0", {"accuracy": "Float"}, 'output accuracy: expected a number, got "high'),
        ("mkdir $0", {"accuracy": "Float"}, "output accuracy: "),
        ("mkfifo $0", {"accuracy": "Float"}, "is a FIFO, expected a file"),
        ("true", {"note": "String"}, "output note: the program succeeded, but did not write it"),
        ("true", {"data": "Dataset"}, "output data: the program succeeded, but did not write it"),
        ("mkdir $0", {"data": "Directory"}, "output data: the program succeeded, but did not write it"),
    ],
)
@pytest.mark.parametrize("before", ["nothing", "an older one"])
def test_a_missing_output_fails_the_step(run, tmp_path, script, outputs, said, before):
    older = "mkdir $0; echo x >$0/w" if "model_dir" in outputs else "echo 1 >$0"
    where = ["--model-dir", "model", "--run-dir", "run", "--report", "report.html", "--results", "results.json"]
    if before != "nothing":
        assert run(*component(older, **outputs), *where).returncode == 0
        (tmp_path / "results.json").unlink()
        script = "rm -rf $0; " + script if script != "true" else script
    done = run(*component(script, **outputs), *where)
    assert done.returncode == 1, done.stdout
    assert said in done.stdout.decode()
    assert "training succeeded, but its outputs are incomplete" in done.stdout.decode()
    report = html.unescape((tmp_path / "report.html").read_text())
    assert said in report and "Succeeded" not in report
    assert not (tmp_path / "results.json").exists()


def test_a_fifo_without_a_writer_is_not_awaited_for_ever(run):
    done = run(wrapper='mkfifo place && exec "$@" --train-specification @place')
    assert done.returncode == 2
    assert "train_specification: place is a FIFO, and no program has opened it for writing" in done.stderr.decode()


@pytest.mark.parametrize("write", ["truncate -s 10G $0", "mkfifo $0; echo x >&2", "ln -s /dev/zero $0"])
def test_an_unreadable_metrics_file_does_not_block(run, tmp_path, write):
    """They are neither waited for nor read completely; the metrics are those of the log."""
    done = run(*component(f"{write}; echo loss=0.5", metrics="Metrics"), "--metrics", "metrics.json")
    assert done.returncode == 0, done.stdout
    if "truncate" in write:
        assert b"is larger than 16777216 bytes; ignoring its metrics" in done.stdout
    else:
        assert json.loads((tmp_path / "metrics.json").read_text()) == {"loss": 0.5}


def test_a_fifo_in_place_of_a_file_does_not_block(run, tmp_path):
    done = run(*program(f"mkfifo {tmp_path}/metrics.json; echo loss=0.5"), "--metrics", "metrics.json")
    assert done.returncode == 3, done.stdout
    assert b"metrics.json: it has no reader" in done.stdout


@pytest.mark.parametrize(
    "make, said",
    [
        ("mkfifo", "--record: place is a FIFO without a reader; start the reader first, or choose a regular file"),
        ("mkdir", "record: place is a folder, but a file is written there"),
        ("python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])'", "record: place is a socket, but a file is written there"),
    ],
    ids=["FIFO", "folder", "socket"],
)
def test_a_record_is_written_to_any_writable_path(run, make, said):
    done = run(*program("true"), "--record", "place", wrapper=f'{make} place && exec "$@"')
    assert done.returncode == 2, done.stdout
    assert said in done.stderr.decode() and not done.stdout


def test_a_record_whose_reader_stops_reading_does_not_block(run):
    """The reader opens the FIFO and sleeps: what does not fit waits, and is given up after the end."""
    script = "i=0; while [ $i -lt 3000 ]; do echo line $i of a program that says much; i=$((i+1)); done"
    wrapper = 'mkfifo place; sleep 1000 <place & reader=$!; "$@"; code=$?; kill $reader; exit $code'
    done = run(*program(script), "--record", "place", wrapper=wrapper)
    assert done.returncode == 0, done.stdout


def test_a_record_arrives_whole_through_a_pipe(run, tmp_path):
    script = "i=0; while [ $i -lt 20000 ]; do echo line $i of a program that says much; i=$((i+1)); done"
    done = run(*program(script), wrapper='"$@" --record >(sleep 1; cat >record.jsonl; touch whole) >/dev/null')
    assert done.returncode == 0, done.stderr
    until((tmp_path / "whole").exists, "the record's end")
    assert "line 19999 of a program" in (tmp_path / "record.jsonl").read_text()
    assert subprocess.run([PROGRAM, "replay", tmp_path / "record.jsonl"], stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("name, said", [("model_dir", "a file or folder is written there"), ("metrics", "but the program writes there")])
def test_a_program_is_not_sent_to_a_fifo(run, name, said):
    flag = "--" + name.replace("_", "-")
    done = run(*component("echo 1 >$0", **{name: "Model"}), flag, "place", wrapper='mkfifo place && exec "$@"')
    assert done.returncode == 2, done.stdout
    assert said in (done.stdout + done.stderr).decode()


def test_a_path_that_became_a_folder_is_not_blamed_on_the_program(run, tmp_path):
    script = f"mkdir $0 {tmp_path}/results.json; echo w >$0/weights"
    words = [*component(script, model_dir="Model"), "--model-dir", "model", "--results", "results.json", "--report", "report.html"]
    done = run(*words)
    assert done.returncode == 3, done.stdout
    assert "failed (system): training succeeded, but its outputs are incomplete: cannot write results.json: it is now a folder" in done.stdout.decode()
    assert f"model_dir: was not written to {tmp_path}/model\n" in done.stdout.decode()
    assert not (tmp_path / "model").exists()
    assert "was not written to" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("call", ["signalfd", "eventfd"])
def test_a_sandbox_that_refuses_a_system_call_is_named_at_once(run, tmp_path, call):
    words = ["--exit-code-file", "code", *program("sleep 1000")]
    done = run(*words, wrapper=f'exec {sys.executable} {ROOT}/tests/support/refuses.py {call} timeout -k 1 20 "$@"', env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 3, done.stdout
    assert f"this system does not allow {call}: Function not implemented" in done.stderr.decode()
    assert (tmp_path / "code").read_text() == "3\n"
    assert not list(tmp_path.glob("trainstep-*/"))


def test_an_unusable_tmpdir_is_reported_before_the_training(run, tmp_path):
    done = run(*program("true"), env={"TMPDIR": str(tmp_path / "absent")})
    assert done.returncode == 2 and not done.stdout
    assert f"TMPDIR: cannot create a temporary folder in {tmp_path}/absent: No such file or directory; set it to a writable folder" in done.stderr.decode()


def test_pipes_of_the_shell_are_read_and_written(run, tmp_path):
    (tmp_path / "specification").write_text(json.dumps({"image": "none", "command": ["echo", "loss=0.5"]}))
    done = run(wrapper='"$@" --train-specification @<(cat specification) --metrics >(cat >metrics.json); code=$?; wait $!; exit $code')
    assert done.returncode == 0, done.stdout + done.stderr
    until(lambda: (tmp_path / "metrics.json").read_text() == '{\n  "loss": 0.5\n}\n', "the metrics")


def test_metrics_are_those_of_the_attempt_that_succeeded(run, tmp_path):
    """The first attempt's are of no model that is there."""
    script = "if [ -e ../again ]; then echo epoch=1/1 loss=0.5; else touch ../again; echo epoch=2/9 loss=7 broken=1; exit 1; fi"
    options = json.dumps({"run_policy": {"restart_policy": "OnFailure", "backoff_limit": 1}})
    done = run(*program(script), "--job-options", options, "--metrics", "metrics.json", "--report", "report.html")
    assert done.returncode == 0, done.stdout
    assert json.loads((tmp_path / "metrics.json").read_text()) == {"loss": 0.5}
    assert "broken" not in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be"])
def test_a_log_that_is_not_utf8_is_reported_once_as_its_metrics_are_not_read(run, codec):
    done = run("--train-specification", json.dumps({"image": "none", "command": [sys.executable, "-c", "for i in range(3): print(f'loss={i}', flush=True)"]}),
               env={"PYTHONIOENCODING": codec})
    assert done.returncode == 0
    assert done.stdout.count(b"the program's log contains NUL characters, as UTF-16 does: metrics are read from UTF-8 only\n") == 1


def test_an_empty_file_is_an_empty_text(run, tmp_path):
    done = run(*component(": >$0", note="String"), "--results", "results.json")
    assert done.returncode == 0, done.stdout
    assert json.loads((tmp_path / "results.json").read_text()) == {"note": ""}


def test_inputs_that_apply_only_to_a_cluster_are_reported(run):
    done = run(*program("true"), "--job-options", '{"queue": "q", "environment": {"A": 1}}', "--node-selector", "disk: ssd")
    assert done.returncode == 0
    assert b"ignored on this machine (they apply only in a cluster): job_options.queue, node_selector\n" in done.stdout


def test_numbers_arrive_as_they_were_written(run):
    parameters = '{"a": 18446744073709551615, "b": [9007199254740993, 0.1, -9223372036854775808], "c": "{{name}} {{$.x}} $(A)"}'
    words = ["sh", "-c", 'echo "$ID" "$@"', "x", *({"inputValue": name} for name in "abc")]
    specification = json.dumps({"image": "none", "command": words})
    done = run("--train-specification", specification, "--train-parameters", parameters, "--job-options", '{"environment": {"ID": 9007199254740993}}')
    assert b"9007199254740993 18446744073709551615 [9007199254740993,0.1,-9223372036854775808] {{name}} {{$.x}} $(A)\n" in done.stdout


@pytest.mark.parametrize("level", ["debug", "info"])
def test_the_log_of_a_run_holds_no_secret(run, tmp_path, level):
    component = {"image": "none", "command": ["sh", "-c", "exit 3", {"inputValue": "api_key"}, {"inputPath": "data"}]}
    given = {"api_key": "hunter2hunter2", "data": "https://me:hunter3hunter3@host/x?X-Amz-Signature=hunter4hunter4"}
    options = {"environment": {"DB_PASSWORD": "hunter5hunter5", "B": {"secret": "s", "key": "k"}}}
    words = ["--train-specification", json.dumps(component), "--train-parameters", json.dumps(given), "--job-options", json.dumps(options)]
    done = run(*words, "--log-level", level, "--report", "report.html", "--record", "record.jsonl")
    assert done.returncode == 2
    told = done.stdout.decode() + done.stderr.decode() + "".join(path.read_text() for path in tmp_path.iterdir() if path.is_file())
    assert "is not a path on this machine" in told and not re.search("hunter[2345]", told)


def test_an_unrequested_output_may_be_missing_only_if_it_holds_metrics(run):
    done = run(*component("true", picture="Image"))
    assert done.returncode == 1
    assert "output picture: the program succeeded, but did not write it" in done.stdout.decode()
    done = run(*component("true", scores="Metrics"))
    assert done.returncode == 0
    assert "scores: the program wrote nothing" in done.stdout.decode()


def test_a_model_replaces_files_that_no_run_created_and_keeps_them_next_to_it(run, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/notes").write_text("mine")
    done = run(*component("mkdir $0; echo w >$0/weights", model_dir="Model"), "--model-dir", "model")
    assert done.returncode == 0, done.stdout
    assert b"model.~1~" in done.stdout
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["weights"]
    assert (tmp_path / "model.~1~/notes").read_text() == "mine"


def test_binary_output_becomes_a_readable_log_and_page(run, tmp_path):
    # Every pair of a lead byte and another: control characters, half and whole UTF-8 sequences, the line separators of Unicode.
    (tmp_path / "bytes").write_bytes(b"".join(bytes([lead, byte, 0xA8]) for lead in (0x00, 0xC2, 0xE2, 0xED, 0xF4) for byte in range(256)))
    script = f"printf '\\000\\001\\377\\376\\303\\n\\033[31mred\\033[0m\\n<b>bold</b>\\nloss=0.5\\n'; cat {tmp_path}/bytes; printf '\\303'; exit 3"
    done = run(*program(script), "--report", "report.html", "--metrics", "metrics.json", "--log-format", "json")
    assert done.returncode == 1
    messages = [json.loads(line) for line in done.stdout.decode("utf-8").split("\n") if line]
    assert any("red" in entry["message"] for entry in messages if entry["source"] == "main")
    page = (tmp_path / "report.html").read_bytes().decode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", page)
    assert "<b>bold" not in page
    assert json.loads((tmp_path / "metrics.json").read_text())["loss"] == 0.5


def test_a_line_of_100_megabytes_takes_no_memory(run, tmp_path):
    script = 'head -c 100000000 /dev/zero | tr "\\000" x; echo; echo loss=2; exit 1'
    done = run(*program(script), "--report", "report.html", wrapper='exec "$@" >log')
    assert done.returncode == 1
    assert (tmp_path / "log").stat().st_size > 100_000_000
    assert (tmp_path / "report.html").stat().st_size < 1_000_000


def test_non_finite_numbers_are_not_written_as_json(run, tmp_path):
    where = ["--metrics", "metrics.json", "--results", "results.json", "--mlpipeline-metrics", "mlpipeline.json", "--report", "report.html"]
    script = 'echo "loss=nan gain=inf deep=-inf good=0.5"; echo \'{"a": [1, {"b": NaN}], "c": -Infinity}\' >$0; echo nan >$1'
    done = run(*component(script, nested="JsonObject", number="Float"), *where)
    assert done.returncode == 0, done.stdout

    def refuse(word):
        raise AssertionError(f"{word} is not a valid JSON")

    read = {name: json.loads((tmp_path / name).read_text(), parse_constant=refuse) for name in ("metrics.json", "results.json", "mlpipeline.json")}
    assert read["metrics.json"] == {"good": 0.5}
    assert read["results.json"]["nested"]["a"][0] == 1
    assert "loss=NaN" in done.stdout.decode()


def test_secrets_of_the_environment_are_never_shown(run, tmp_path):
    secrets = {"MY_PASSWORD": "hunter2hunter2", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI", "GITHUB_TOKEN": "ghp_0123456789", "API_KEY": "keykeykey"}
    options = {"environment": {"DB_PASSWORD": "geheimgeheim"}, "pass_environment": ["MY_PASSWORD", "API_KEY"]}
    words = [*program('[ "$DB_PASSWORD" = geheimgeheim ] && echo loss=1; exit 1'), "--job-options", json.dumps(options)]
    done = run(*words, "--report", "report.html", "--metrics", "metrics.json", env=secrets)
    assert done.returncode == 1
    told = done.stdout + done.stderr + (tmp_path / "report.html").read_bytes() + (tmp_path / "metrics.json").read_bytes()
    assert b"loss" in told
    for secret in [*secrets.values(), "geheimgeheim"]:
        assert secret.encode() not in told


@pytest.mark.parametrize("columns", [0, 1, 3, 10, 200])
def test_the_live_line_fits_the_terminal(tmp_path, columns):
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 10, columns, 0, 0))
    environment = {**ENVIRONMENT, "TERM": "xterm", "NO_COLOR": "1"}
    running = subprocess.Popen([PROGRAM, "run", *program(EPOCHS)], cwd=tmp_path, env=environment, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    seen = b""
    while True:
        try:
            seen += os.read(controller, 4096)
        except OSError:  # the last writer is gone
            break
    os.close(controller)
    assert running.wait(timeout=60) == 0
    live = [part.partition("\r")[0] for part in seen.decode().split("\x1b[K") if part.startswith("▸")]
    assert live
    assert max(map(len, live)) <= (max(columns, 3) if columns else 80)


def test_a_gang_of_many_ends_when_one_fails(run):
    done = run(*program("[ $RANK != 50 ] || exit 9; sleep 100"), "--distribution-specification", '{"distribution_type": "PyTorch", "number_of_workers": 100}')
    assert done.returncode == 1
    assert b"worker-49 exited with code 9" in done.stdout


def test_a_command_line_that_the_kernel_refuses(run, tmp_path):
    """One that would do elsewhere: with a small stack Linux takes less."""
    (tmp_path / "specification").write_text(json.dumps({"image": "none", "command": ["echo", *["x" * 100_000] * 4]}))
    done = run("--train-specification", "@specification", wrapper='ulimit -s 1024; exec "$@"')
    assert done.returncode == 2
    assert b"arguments are too long" in done.stdout


@pytest.mark.parametrize("words", [["--run-dir", "shared"], ["--exit-code-file", "file"], ["--model-dir", "model"]], ids=lambda words: words[0])
def test_where_the_file_system_has_no_locks_the_second_run_is_refused_too(run, tmp_path, words):
    no_locks = f"{sys.executable} {ROOT}/tests/support/refuses.py flock"
    of_model = ["--train-parameters", '{"model": "model_dir"}'] if "--model-dir" in words else []
    waits = f'touch {tmp_path}/begun; while [ ! -e {tmp_path}/end ]; do sleep 0.05; done; echo first >"$0"'
    first = subprocess.Popen(
        [*no_locks.split(), PROGRAM, "run", *words, *of_model, *component(waits, model="Model")], cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE
    )
    try:
        until((tmp_path / "begun").exists, "the first run")
        second = run(*words, *of_model, *component('echo second >"$0"', model="Model"), wrapper=f'exec {no_locks} "$@"')
        assert second.returncode == 2
        assert b"another run is" in second.stdout + second.stderr
    finally:
        (tmp_path / "end").touch()
    assert b"succeeded" in first.communicate(timeout=60)[0]
    assert first.returncode == 0
