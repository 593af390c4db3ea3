# SPDX-License-Identifier: Apache-2.0
"""Displaying a training, or opening its folder, does not affect it."""
import sys

import pytest
from conftest import ROOT
from sdk_scripts import environment, script, start  # noqa: F401


@pytest.fixture
def interpreter(program):
    return ["env", f"PYTHONPATH={ROOT}/sdk", f"TRAINSTEP={program}", "PYTHONIOENCODING=utf-8", "/usr/bin/python3", "-B"]


STREAMS = {
    "latin-1": "sys.stdout = io.TextIOWrapper(io.BytesIO(), 'latin-1')",
    "ascii": "sys.stdout = io.TextIOWrapper(io.BytesIO(), 'ascii')",
    "none": "sys.stdout = None",
    "closed": "sys.stdout.close()",
    "closed file": "os.close(0); os.close(1); os.close(2)",
    "full": "sys.stdout = open('/dev/full', 'w')",
    "nobody reads": "r, w = os.pipe(); os.close(r); sys.stdout = open(w, 'w')",
    "raises": "sys.stdout = Raises()",
    "raises, both": "sys.stdout = sys.stderr = Raises()",
    "no stream": "sys.stdout = sys.stderr = object()",
}


@pytest.mark.parametrize("bar", [False, True])
@pytest.mark.parametrize("stream", STREAMS)
def test_stream_that_cannot_show_a_line_ends_no_training(script, tmp_path, stream, bar):
    """bar: as tqdm draws it, on that stream."""
    script(f"""
        import io, os, sys, types

        class Raises:
            encoding = "utf-8"
            def write(self, text):
                raise RuntimeError("no window")
            flush = write

        class Bar:
            def __init__(self, **more):
                self.n, self.total = 0, 0
            @classmethod
            def write(cls, text, file):
                file.write(text + chr(10))
                file.flush()
            def update(self, by):
                sys.stdout.write(f"bar {{by}}")
            def set_postfix(self, *what, **more):
                sys.stdout.write("metrics")
            close = set_postfix

        if {bar}:
            sys.modules["tqdm"], sys.modules["tqdm.auto"] = types.ModuleType("tqdm"), types.SimpleNamespace(tqdm=Bar)

        def train(marker: str):
            for epoch in (1, 2):
                print(f"epoch={{epoch}}/2 loss=1 \\U0001f600 \\u2588", flush=True)
            open(marker, "w").write("finished")

        {STREAMS[stream]}
        try:
            result = trainstep.run(train, {{"marker": {str(tmp_path / "finished")!r}}})
            open("result", "w").write(repr(result.metrics))
        finally:
            os._exit(0)
    """)
    assert (tmp_path / "finished").exists() and "loss" in (tmp_path / "result").read_text()


@pytest.mark.parametrize("encoding, shown", [("latin-1", "é \\U0001f600"), ("ascii", "\\xe9 \\U0001f600"), ("utf-8", "é \U0001f600")])
def test_what_a_stream_has_no_character_for_is_spelled_out(script, encoding, shown):
    output = script(f"""
        import io, sys

        def train():
            print("\\xe9 \\U0001f600")

        said, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), {encoding!r})
        trainstep.run(train)
        shown, sys.stdout = sys.stdout.buffer.getvalue().decode({encoding!r}), said
        print(shown)
    """)
    assert f"[main] {shown}\n" in output


def test_standard_error_says_once_why_nothing_is_shown(script, tmp_path):
    output = script("""
        import sys

        def train():
            print("a")
            print("b")

        said, sys.stdout = sys.stdout, open("/dev/full", "w")
        result = trainstep.run(train)
        sys.stdout = said
        print(result.exit_code, result.folder)
    """)
    (line,) = [line for line in output.split("\n") if line.startswith("trainstep: cannot display the log here (OSError")]
    assert "No space left on device" in line and f"; the training continues, its log is {tmp_path}/trainstep-runs/" in line


@pytest.mark.parametrize("harm", [
    '(place / "log.jsonl").unlink()', '(place / "progress").write_text("3/")', '(place / "progress").write_bytes(b"\\xff/x")',
])
def test_harm_to_what_is_shown_ends_no_training(script, harm):
    output = script(f"""
        def train(folder: str) -> int:
            import pathlib, time
            place = pathlib.Path(folder)
            time.sleep(0.1)
            {harm}
            time.sleep(0.3)
            return 7

        print(trainstep.run(train, {{"folder": "here"}}, folder="here").results)
    """.replace('"folder": "here"', '"folder": __import__("os").path.abspath("here")'))
    assert output.endswith("{'Output': 7}\n")


@pytest.mark.parametrize("wrapper", [[], [sys.executable, f"{ROOT}/tests/support/refuses.py", "flock"]], ids=["locks", "no locks"])
def test_folder_of_a_run_at_work_is_left_alone(script, interpreter, wrapper):
    interpreter[:0] = wrapper
    output = script("""
        import pathlib, threading, time

        def first(go: str):
            import pathlib, time
            print("loss=1", flush=True)
            while not pathlib.Path(go).exists():
                time.sleep(0.02)
            print("loss=2")

        def second():
            print("loss=7")

        ended, refusals = [], []
        go = str(pathlib.Path("go").resolve())
        thread = threading.Thread(target=lambda: ended.append(trainstep.run(first, {"go": go}, folder="same")), daemon=True)
        thread.start()
        log = pathlib.Path("same/log.jsonl")
        while not log.exists() or b"loss=1" not in log.read_bytes():
            time.sleep(0.02)
        before = {path: path.read_bytes() for path in log.parent.iterdir() if path.is_file()}
        for call in (trainstep.run, trainstep.submit):
            try:
                call(second, folder="same")
            except trainstep.InputError as refused:
                refusals.append(f"refused: {refused}")
        now = {path: path.read_bytes() for path in log.parent.iterdir() if path.is_file()}
        assert now == before, now
        pathlib.Path(go).touch()
        thread.join()
        assert ended[0].metrics == {"loss": 2.0} and b"loss=2" in log.read_bytes(), ended
        assert trainstep.run(second, folder="same").metrics == {"loss": 7.0}
        print("", *refusals, "over", sep="\\n")
    """)
    assert output.count("\nrefused: folder: another run is using ") == 2 and output.endswith("over\n")


def test_step_stopped_before_it_handles_signals_is_cancelled(script, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 1000\n", encoding="utf-8")
    program.chmod(0o700)
    output = script(f"""
        import os
        os.environ["TRAINSTEP"] = {str(program)!r}
        step = trainstep.submit({{"image": "a", "command": ["true"]}})
        step.stop()
        try:
            step.follow(bar=False)
        except trainstep.StepCancelled as ended:
            print("cancelled", ended.exit_code)
    """)
    assert output.endswith("cancelled 130\n")


def test_forked_process_cannot_use_the_run(script, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 1000\n", encoding="utf-8")
    program.chmod(0o700)
    output = script(f"""
        import multiprocessing, os
        os.environ["TRAINSTEP"] = {str(program)!r}
        step = trainstep.submit({{"image": "a", "command": ["true"]}})

        def child():
            for call in (lambda: step.done, step.result, step.stop, lambda: step.follow(bar=False)):
                try:
                    call()
                except RuntimeError as refused:
                    print("refused:", refused)
            print(repr(step), flush=True)

        other = multiprocessing.get_context("fork").Process(target=child)
        other.start()
        other.join()
        print("done", step.done)
        step.stop()
    """)
    assert output.count("refused: this run was started by process ") == 4 and ": of process " in output and output.endswith("done False\n"), output


def test_folder_is_released_although_a_forked_interpreter_still_runs(script):
    output = script("""
        import os, signal, threading, time

        def train(): print("loss=1")

        def slow():
            import time
            time.sleep(1)

        thread = threading.Thread(target=lambda: trainstep.run(slow, folder="same"), daemon=True)
        thread.start()
        while not os.path.exists("same/log.jsonl") or not os.path.getsize("same/log.jsonl"):
            time.sleep(0.02)
        child = os.fork()
        if not child:
            signal.pause()
        thread.join()
        try:
            print(trainstep.run(train, folder="same").metrics)
        finally:
            os.kill(child, signal.SIGKILL)
    """)
    assert output.endswith("{'loss': 1.0}\n")
