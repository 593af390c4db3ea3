# SPDX-License-Identifier: Apache-2.0
"""trainstep exec, the agent in a training pod, with a scripted store: the effect of a SIGTERM, whenever it comes."""
import http.server
import json
import os
import shutil
import signal
import subprocess
import threading
import urllib.parse

import pytest
from conftest import PROGRAM, until


class Store(http.server.ThreadingHTTPServer):
    """Keeps what is put. A request in whose line `silent_at` stands ($ is the line's end) gets no answer; `meets` is called with each line."""

    daemon_threads = True

    def __init__(self, silent_at, meets=lambda line: None):
        super().__init__(("127.0.0.1", 0), Request)
        self.silent_at, self.meets = silent_at, meets
        self.silent = threading.Event()
        self.over = threading.Event()
        self.objects, self.marks, self.uploads = {}, {}, set()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body="", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body.encode())

    def handle_any(self):
        store = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        store.meets(f"{self.command} {self.path}")
        if store.silent_at in f"{self.command} {self.path}$":
            store.silent.set()
            store.over.wait()
            self.close_connection = True
            return
        key = urllib.parse.unquote(url.path)
        if "list-type" in query:
            bucket = key.rstrip("/") + "/"
            found = {name.removeprefix(bucket): body for name, body in store.objects.items() if name.startswith(bucket + query.get("prefix", ""))}
            contents = (f"<Contents><Key>{name}</Key><Size>{len(body)}</Size><ETag>e</ETag></Contents>" for name, body in found.items())
            return self.reply(200, f"<ListBucketResult>{''.join(contents)}</ListBucketResult>")
        if self.command == "GET" and "uploads" in query:
            return self.reply(200, "<ListMultipartUploadsResult></ListMultipartUploadsResult>")
        if self.command == "POST" and "uploads" in query:
            store.uploads.add("1")
            return self.reply(200, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
        if self.command == "DELETE":
            store.uploads.discard(query.get("uploadId"))
            if "uploadId" not in query:
                store.objects.pop(key, None)
            return self.reply(204)
        if self.command == "PUT":
            if "uploadId" not in query:
                store.objects[key], store.marks[key] = body, self.headers.get("x-amz-meta-trainstep-job", "")
            return self.reply(200, ETag='"e"')
        if self.command == "GET" and key in store.objects and "Range" in self.headers:
            first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            body = store.objects[key][first:last + 1]
            return self.reply(206, body.decode(), **{"ETag": '"e"', "Content-Range": f"bytes {first}-{first + len(body) - 1}/{len(store.objects[key])}"})
        if self.command == "GET" and key in store.objects:
            return self.reply(200, store.objects[key].decode(), ETag='"e"')
        if self.command == "HEAD" and key in store.objects:
            return self.reply(200, ETag='"e"', **{"x-amz-meta-trainstep-job": store.marks[key]})
        return self.reply(404, "<Error><Code>NoSuchKey</Code></Error>")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any


# A process in a namespace of its own, where it is number 1: as in a container.
AS_A_CONTAINER = ["unshare", *([] if os.getuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork", "--kill-child", "--mount-proc"]


def start(tmp_path, store, script, inputs=(), words=(), task=(), environment=(), beneath=()):
    """The agent, whose program is `script`; its one output is a folder that belongs to s3://bkt/run/model. `task`: more of it. `beneath`: what starts it."""
    place = {"uri": "s3://bkt/run/.trainstep/train/finished.json", "store": 0}
    model = tmp_path / "outputs/model/data"
    task = {"job": "train", "attempt": "a", "stores": [{"endpoint": f"http://127.0.0.1:{store.server_address[1]}", "region": "r"}], "record": place, "inputs": list(inputs),
            "outputs": [{"name": "model", "type": "artifact", "path": str(model), "uri": "s3://bkt/run/model", "store": 0}], **dict(task)}
    (tmp_path / "task.json").write_text(json.dumps(task))
    message = tmp_path / "message"
    message.touch()
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "TRAINSTEP_TERMINATION_LOG": str(message),
                   "MODEL": str(model), "DATA": str(tmp_path / "inputs/data"), "no_proxy": "*", **dict(environment)}
    words = [*beneath, PROGRAM, "exec", "--role", "indexed" if "JOB_COMPLETION_INDEX" in environment else "primary", "--task", tmp_path / "task.json", *words, "--", "sh", "-c", script]
    return subprocess.Popen(words, env=environment), message


@pytest.fixture
def before(tmp_path):
    """The agent before a store that is silent at a request; all of it is gone afterwards."""
    made = []

    def begin(silent_at, script="exit 1", beneath=()):
        store = Store(silent_at)
        made.append(store)
        process, message = start(tmp_path, store, script, beneath=beneath)
        made.append(process)
        until(store.silent.is_set, f"the request {silent_at}", 30)
        return store, process, message

    yield begin
    for one in made:
        if isinstance(one, Store):
            one.over.set()
            one.shutdown()
        else:
            one.kill()
            one.wait()


@pytest.mark.parametrize("silent_at", ["GET /bkt/run/.trainstep/train/finished.json", "PUT /bkt/run/.trainstep/train/finished.json.probe"])
def test_a_signal_before_the_program_begins_ends_the_agent_with_a_report(before, silent_at):
    _, process, message = before(silent_at)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 143
    report = json.loads(message.read_text())
    assert report["class"] == "cancelled"
    assert "SIGTERM" in report["message"]


def test_a_signal_while_outputs_are_delivered_leaves_neither_uploads_nor_half_a_model(before):
    script = 'mkdir -p "$MODEL" && echo small >"$MODEL/small" && head -c 20000000 /dev/zero >"$MODEL/large"'
    store, process, message = before("PUT /bkt/run/model/large?partNumber=2", script)
    until(lambda: "/bkt/run/model/small" in store.objects, "the small file")
    assert store.uploads == {"1"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=29) == 143
    assert store.uploads == set()
    assert not [key for key in store.objects if key.startswith("/bkt/run/model")]
    assert "/bkt/run/.trainstep/train/finished.json" not in store.objects
    assert json.loads(message.read_text())["class"] == "cancelled"


def test_an_agent_that_is_pid_1_handles_a_signal_during_delivery(before):
    """The kernel gives process 1 no signal that it neither handles nor blocks."""
    script = 'mkdir -p "$MODEL" && head -c 20000000 /dev/zero >"$MODEL/large"'
    store, process, _ = before("PUT /bkt/run/model/large?partNumber=2", script, AS_A_CONTAINER)
    (agent,) = children(process.pid)
    os.kill(agent, signal.SIGTERM)
    assert process.wait(timeout=29) == 143
    assert store.uploads == set()


def test_a_signal_before_the_record_is_written_removes_the_model_again(before):
    script = 'mkdir -p "$MODEL" && echo w >"$MODEL/weights"'
    store, process, message = before("PUT /bkt/run/.trainstep/train/finished.json$", script)
    assert "/bkt/run/model/weights" in store.objects
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=29) == 143
    assert not [key for key in store.objects if key.startswith("/bkt/run/model")]
    assert json.loads(message.read_text())["class"] == "cancelled"


def test_a_program_that_is_started_again_finds_its_inputs_as_they_were(tmp_path):
    store = Store("no request")
    store.objects["/bkt/data/part"] = b"100"
    once = tmp_path / "once"
    script = f'cat "$DATA/part" >>{tmp_path}/seen; echo changed >"$DATA/part"; [ -e {once} ] || {{ touch {once}; exit 1; }}; mkdir -p "$MODEL"; echo m >"$MODEL/m"'
    inputs = [{"name": "data", "path": str(tmp_path / "inputs/data"), "uri": "s3://bkt/data", "store": 0}]
    try:
        for code in (1, 0):
            process, _ = start(tmp_path, store, script, inputs=inputs, words=["--scratch", tmp_path])
            assert process.wait(timeout=30) == code
    finally:
        store.shutdown()
    assert (tmp_path / "seen").read_text() == "100100"


def test_a_folder_in_the_place_of_the_metrics_is_not_delivered(tmp_path):
    store = Store("no request")
    metrics = tmp_path / "outputs/metrics/data"
    outputs = [{"name": name, "type": "artifact", "path": str(tmp_path / f"outputs/{name}/data"), "uri": f"s3://bkt/run/{name}", "store": 0} for name in ("model", "metrics")]
    outputs[1]["file"] = True
    script = f'mkdir -p "$MODEL" && echo w >"$MODEL/weights"; mkdir {metrics}; echo 5 >{metrics}/values'
    try:
        for repeated in (False, True):
            process, message = start(tmp_path, store, script, task={"outputs": outputs})
            assert process.wait(timeout=30) == 0
            report = json.loads(message.read_text())
            assert report["class"] == "succeeded"
            assert report.get("repeated", False) == repeated
            assert [output.get("no_file", False) for output in report["outputs"]] == [False, True]
    finally:
        store.shutdown()
    assert store.objects["/bkt/run/model/weights"] == b"w\n"
    assert not [key for key in store.objects if key.startswith("/bkt/run/metrics")]


@pytest.mark.parametrize("then, code", [("exit 0", 143), ("exit 3", 3)])
def test_a_program_that_saves_and_leaves_at_a_sigterm_has_not_trained(tmp_path, then, code):
    store = Store("no request")
    begun = tmp_path / "begun"
    process, message = start(tmp_path, store, f'mkdir -p "$MODEL" && echo half >"$MODEL/best"; trap "{then}" TERM; touch {begun}; while :; do sleep 0.1; done')
    try:
        until(begun.exists, "the program", 30)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == code
    finally:
        process.kill()
        process.wait()
        store.shutdown()
    assert not [key for key in store.objects if key.startswith("/bkt/run")]
    report = json.loads(message.read_text() or "{}")
    assert report.get("class") == ("cancelled" if code == 143 else None), report
    assert ("code 0 after SIGTERM" in report.get("message", "")) == (code == 143)


@pytest.mark.parametrize("change, said", [(os.remove, "was removed"), (lambda file: os.truncate(file, 1000), "changed from 20000000 to 1000 bytes")])
def test_an_output_that_changes_during_delivery_fails(tmp_path, change, said):
    checkpoint = tmp_path / "shared.pt"
    met = []

    def meets(line):
        if "partNumber" in line and not met:
            met.append(line)
            change(checkpoint)

    store = Store("no request", meets)
    script = f'mkdir -p "$MODEL" && echo 1 >"$MODEL/config" && head -c 20000000 /dev/zero >{checkpoint} && ln -s {checkpoint} "$MODEL/model.pt"'
    process, message = start(tmp_path, store, script)
    try:
        assert process.wait(timeout=60) == 3
    finally:
        process.kill()
        store.shutdown()
    report = json.loads(message.read_text())
    assert report["class"] == "system"
    assert f"model.pt {said} after the program had ended" in report["message"]
    assert not [key for key in store.objects if key.startswith("/bkt/run/model")]
    assert "/bkt/run/.trainstep/train/finished.json" not in store.objects


def children(pid):
    return [int(child) for child in open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8").read().split()]


def gone(pid):
    try:
        return open(f"/proc/{pid}/stat", encoding="utf-8").read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("role", ["primary", "rank", "launcher"])
@pytest.mark.parametrize("killed", ["the first process", "the second process", "the group"])
def test_a_killed_agent_leaves_nothing_running(tmp_path, role, killed):
    (tmp_path / "task.json").write_text(json.dumps({"job": "train"}))
    pids = tmp_path / "pids"
    script = f"setsid sleep 300 & daemon=$!; sleep 300 & echo $$ $daemon $! >{pids}.new; mv {pids}.new {pids}; wait"
    words = [PROGRAM, "exec", "--role", role, "--task", tmp_path / "task.json", "--", "sh", "-c", script]
    agent = subprocess.Popen(words, env={**os.environ, "TRAINSTEP_TERMINATION_LOG": "/dev/null"}, stdin=subprocess.DEVNULL, start_new_session=True)
    until(pids.exists, "the program", 30)
    left = [int(pid) for pid in pids.read_text().split()]
    assert len(left) == 3
    if killed == "the group":
        os.killpg(agent.pid, signal.SIGKILL)
    else:
        os.kill(agent.pid if killed == "the first process" else children(agent.pid)[0], signal.SIGKILL)
    agent.wait(timeout=30)
    until(lambda: all(gone(pid) for pid in left), "the end of all that it had started", 30)


def test_each_index_trains_after_another_has_finished_and_resumes_from_its_own_checkpoints(tmp_path):
    store = Store("no request")
    saved = tmp_path / "saved"
    script = f'''mkdir -p "$MODEL" {saved}; cat {saved}/latest/step 2>/dev/null >>{tmp_path}/seen || echo none >>{tmp_path}/seen
mkdir {saved}/step-$STEP; echo "$JOB_COMPLETION_INDEX $STEP" >{saved}/step-$STEP/step; ln -sfn step-$STEP {saved}/latest; echo m >"$MODEL/m"; exit $CODE'''
    lives = [("0", 1, 1), ("1", 1, 1), ("0", 2, 0), ("1", 2, 1), ("0", 3, 0), ("1", 3, 0)]
    try:
        for index, step, code in lives:
            shutil.rmtree(saved, ignore_errors=True)  # another pod
            process, _ = start(tmp_path, store, script, task={"checkpoints": {"folder": str(saved), "uri": "s3://bkt/run/.trainstep/train/checkpoints", "store": 0}},
                               environment={"JOB_COMPLETION_INDEX": index, "STEP": str(step), "CODE": str(code)})
            assert process.wait(timeout=30) == code
            shutil.rmtree(tmp_path / "outputs", ignore_errors=True)
    finally:
        store.shutdown()
    assert (tmp_path / "seen").read_text().splitlines() == ["none", "none", "0 1", "1 1", "1 2"]  # the third one of index 0 has nothing left to do


def test_a_file_of_the_image_does_not_replace_the_saved_checkpoints(tmp_path):
    store = Store("no request")
    saved = tmp_path / "saved"
    script = f'cat {saved}/step >>{tmp_path}/seen 2>/dev/null; echo "$STEP" >{saved}/step; mkdir -p "$MODEL"; echo m >"$MODEL/m"; exit $CODE'
    try:
        for step, code in (1, 1), (2, 0):
            shutil.rmtree(saved, ignore_errors=True)  # another pod, with a folder of its own beside the checkpoints
            saved.mkdir()
            (saved / ".keep").touch()
            scratch = tmp_path / f"scratch-{step}"
            scratch.mkdir()
            process, _ = start(tmp_path, store, script, words=["--scratch", scratch], environment={"STEP": str(step), "CODE": str(code)},
                               task={"checkpoints": {"folder": str(saved), "uri": "s3://bkt/run/.trainstep/train/checkpoints", "store": 0}})
            assert process.wait(timeout=30) == code
            shutil.rmtree(tmp_path / "outputs", ignore_errors=True)
    finally:
        store.shutdown()
    assert (tmp_path / "seen").read_text() == "1\n"


def test_credentials_reach_the_program_without_the_newline_of_their_secret(tmp_path):
    store = Store("no request")
    process, _ = start(tmp_path, store, 'mkdir -p "$MODEL" && printf "[%s][%s]" "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" > "$MODEL/keys"',
                       environment={"AWS_ACCESS_KEY_ID": "key\n", "AWS_SECRET_ACCESS_KEY": "secret \r\n"})
    assert process.wait(60) == 0
    assert b"[key][secret]" in store.objects.values()
    store.shutdown()
