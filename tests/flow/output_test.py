# SPDX-License-Identifier: Apache-2.0
"""No line is lost or broken, however a program uses its output, and every program's exit is noticed."""
import pathlib
import re
import time

import pytest

PYTORCH = {"distribution_type": "PyTorch", "number_of_workers": 2}


def test_100_megabytes_arrive_whole(gang):
    gang.start("yes 0123456789012345678901234567890123456789012345678 | head -n 2000000; echo end", {})
    assert gang.exit_code() == 0
    lines = gang.output().splitlines()
    wanted = "[main] 0123456789012345678901234567890123456789012345678"
    assert lines.count(wanted) == 2_000_000
    assert "[main] end" in lines
    assert [line for line in lines if line != wanted and not line.startswith(("[main] end", "[trainstep]"))] == []


def test_lines_of_several_replicas_are_not_mixed(gang):
    gang.start('i=0; while [ $i -lt 20000 ]; do echo "$RANK:$i:$RANK"; i=$((i+1)); done', PYTORCH)
    assert gang.exit_code() == 0
    for member, rank in (("master-0", 0), ("worker-0", 1)):
        numbers = re.findall(rf"^\[{member}\] {rank}:(\d+):{rank}$", gang.output(), re.MULTILINE)
        assert [int(n) for n in numbers] == list(range(20000))


def test_output_without_a_newline_arrives(gang):
    gang.start("head -c 3000000 /dev/zero | tr '\\0' x", {})
    assert gang.exit_code() == 0
    assert sum(line.count("x") for line in gang.output().splitlines() if line.startswith("[main]")) == 3_000_000


def test_last_line_without_a_newline_is_shown(gang):
    gang.start("echo first; printf last", {})
    assert gang.exit_code() == 0
    assert "[main] first\n[main] last\n" in gang.output()


def test_closing_the_output_does_not_end_the_task(gang):
    gang.start("echo before; exec >&- 2>&-; sleep 0.5; exit 7", {})
    assert gang.exit_code() == 1
    assert "main exited with code 7" in gang.output()


@pytest.mark.parametrize(
    "script",
    ["sleep 1000 & echo done", "setsid sleep 1000 & echo done", "(setsid sh -c 'sleep 1000; true' </dev/null >/dev/null 2>&1 &); echo done"],
    ids=["holds the output", "daemon that holds the output", "daemon"],
)
def test_a_process_left_running_does_not_delay_the_end(gang, script):
    begun = time.monotonic()
    gang.start(script, PYTORCH)
    assert gang.exit_code() == 0
    assert time.monotonic() - begun < 10
    assert gang.output().count("] done") == 2
    assert not gang.all()


def test_temporary_files_are_removed_with_the_run(gang):
    gang.start('made=$(mktemp -d); touch "$TMPDIR/left"; echo "$made"', PYTORCH)
    assert gang.exit_code() == 0
    made = re.findall(r"^\[(?:master|worker)-\d\] (/.*)$", gang.output(), re.MULTILINE)
    assert len(made) == 2
    assert not any(pathlib.Path(folder).parent.exists() for folder in made)
