# SPDX-License-Identifier: Apache-2.0
"""list, logs, attach and stop with a scripted API server: commands that only read never write, whatever goes wrong, and an empty RUN selects no job."""
import base64
import http.server
import json
import re
import signal
import subprocess
import threading

import pytest
from conftest import PROGRAM, ROOT
from waiting import until

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "digits-1",
        "namespace": "lab",
        "uid": "u-1",
        "resourceVersion": "5",
        "creationTimestamp": "2026-11-21T08:00:00Z",
        "labels": {"trainstep.dev/run": "r", "app.kubernetes.io/managed-by": "trainstep"},
    },
    "spec": {"template": {"spec": {"containers": [{"name": "train"}]}}},
    "status": {"active": 1, "ready": 1},
}
POD = {
    "metadata": {
        "name": "digits-1-x",
        "uid": "p-1",
        "creationTimestamp": "2026-11-21T08:00:01Z",
        "labels": {"batch.kubernetes.io/job-name": "digits-1"},
        "ownerReferences": [{"kind": "Job", "name": "digits-1", "uid": "u-1"}],
    },
    "spec": {"nodeName": "node-1"},
    "status": {"phase": "Running", "containerStatuses": []},
}


def container(name, **state):
    return {"name": name, "restartCount": 0, "state": state}


def pod(*containers, phase="Running"):
    return POD | {"status": {"phase": phase, "containerStatuses": list(containers)}}


RUNS = pod(container("aaa-proxy", running={}), container("train", running={}))
ENDED = pod(container("aaa-proxy", terminated={"exitCode": 0}), container("train", terminated={"exitCode": 0}), phase="Succeeded")


class Api:
    """Answers by the kind of what is asked for; what is not served is 404. A watch is held open and tells nothing."""

    def __init__(self):
        self.jobs, self.pods, self.events, self.secrets = [JOB], [RUNS], [], []
        self.forbidden = set()  # "list pods", "watch pods", "log pods"
        self.broken = set()  # the same, by a server's error
        self.created_again = []  # what is there after a DELETE
        self.odd, self.finalizers = [], []  # the first answers to DELETEs; what holds a deleted job
        self.also_v1 = None  # plural that is served with the same objects
        self.requests = []
        self.refusal = ""  # of what is created
        self.says = ""  # the program, besides its container's name
        self.over = threading.Event()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                api.requests.append(f"{self.command} {self.path}")
                code, body, held = api.answer(self.command, self.path)
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "text/plain" if "/log?" in self.path else "application/json")
                self.send_header("Transfer-Encoding", "chunked") if held else self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if held:
                    self.wfile.flush()
                    api.over.wait()
                    return
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, method, path):
        """(status, body, held open)"""
        if self.refusal and "/selfsubjectaccessreviews" in path:
            return 201, {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": True}}, False
        if self.refusal and path == "/apis/batch/v1":
            jobs = {"name": "jobs", "kind": "Job", "namespaced": True, "verbs": ["create"]}
            return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1", "resources": [jobs]}, False
        found = re.fullmatch(r"/api(?:s/[^/]+)?/[^/]+/namespaces/lab/([a-z]+)(?:/([^/?]+))?(/log)?(?:\?(.*))?", path)
        if not found:
            return self.not_served()
        plural, name, log, query = found.groups()
        watch = "watch=true" in (query or "")
        verb = "log" if log else "watch" if watch else "get" if name else "list"
        if method == "POST" and self.refusal:
            return self.refuse(403, f'admission webhook "gate" denied the request: {self.refusal}')
        if method == "DELETE":
            if self.odd:
                return self.odd.pop(0)
            if self.finalizers:
                metadata = JOB["metadata"] | {"deletionTimestamp": "2026-11-21T09:00:00Z", "finalizers": self.finalizers}
                self.jobs = [JOB | {"metadata": metadata}]
                return 200, self.jobs[0], False
            self.jobs = self.created_again
            return 200, {"kind": "Status", "status": "Success", "details": {"name": name, "kind": plural}}, False
        if f"{verb} {plural}" in self.forbidden or f"* {plural}" in self.forbidden:
            return self.refuse(403, f'{plural} is forbidden: User "me" cannot {verb} resource "{plural}"')
        if f"{verb} {plural}" in self.broken:
            return self.refuse(500, "etcdserver: request timed out", "InternalError")
        if watch:
            return 200, b"", True
        if log:
            container = re.search(r"container=([^&]*)", query).group(1)
            return 200, f"2026-11-21T08:00:06Z I am {container}{self.says}\n".encode(), False
        items = {"pods": self.pods if self.jobs else [], "events": self.events, "secrets": self.secrets, "jobs" if "/batch/" in path else self.also_v1: self.jobs}.get(plural)
        if items is None:
            return self.absent(plural, name) if name and path.startswith("/api/v1/") else self.not_served()
        if name:
            one = [item for item in items if item["metadata"]["name"] == name]
            return (200, one[0], False) if one else self.absent(plural, name)
        return 200, {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": items}, False

    @staticmethod
    def refuse(code, message, reason="", **more):
        return code, {"kind": "Status", "status": "Failure", "code": code, "message": message, "reason": reason} | more, False

    @staticmethod
    def not_served():
        return Api.refuse(404, "the server could not find the requested resource", "NotFound", details={})

    def absent(self, plural, name):
        return self.refuse(404, f'{plural}.batch "{name}" not found', "NotFound", details={"name": name, "kind": plural})

    def written(self):
        return [request for request in self.requests if not request.startswith("GET ")]


@pytest.fixture
def api():
    api = Api()
    yield api
    api.close()


@pytest.fixture
def environment(api, tmp_path):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "lab"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{api.server.server_port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    return {"KUBECONFIG": str(tmp_path / "config"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "NO_COLOR": "1"}


def trainstep(environment, *words, cwd=None):
    return subprocess.run([PROGRAM, *words], env=environment, cwd=cwd, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def event(reason, message):
    about = {"kind": "Job", "name": "digits-1", "uid": "u-1"}
    return {"metadata": {"name": "e", "resourceVersion": "3"}, "reason": reason, "message": message, "involvedObject": about}


FAULTS = {
    "pods may not be seen": (lambda api: api.forbidden.update({"* pods"}), "no permission to list its pods"),
    "pods may not be watched": (lambda api: api.forbidden.add("watch pods"), "no permission to list its pods"),
    "logs may not be read": (lambda api: api.forbidden.add("log pods"), "log of digits-1-x"),
    "no permission to read events": (lambda api: api.forbidden.update({"* events"}), "no permission to read events"),
    "invalid image name": (
        lambda api: setattr(api, "pods", [pod(container("train", waiting={"reason": "InvalidImageName"}), phase="Pending")]),
        "invalid image name",
    ),
    "rejected by its operator": (lambda api: vars(api).update(pods=[], events=[event("ValidationError", "no")]), "rejected by its operator"),
    "nothing": (lambda api: None, "I am train"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_attach_never_writes_and_waits_with_the_job(api, environment, fault, tmp_path):
    harm, words = FAULTS[fault]
    harm(api)
    log = tmp_path / "log"
    with log.open("wb") as out:
        attached = subprocess.Popen([PROGRAM, "attach", "r"], env=environment, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    until(lambda: words in log.read_text() or attached.poll() is not None, words)
    assert attached.poll() is None, log.read_text()
    attached.send_signal(signal.SIGINT)
    assert attached.wait(timeout=60) == 75
    assert "detached; the job keeps running" in log.read_text()
    assert log.read_text().count(words) == 1
    assert "I am aaa-proxy" not in log.read_text()
    assert api.written() == []


def test_attach_to_a_job_that_may_not_be_watched_leaves_it(api, environment):
    api.forbidden.add("watch jobs")
    done = trainstep(environment, "attach", "r")
    assert done.returncode == 3
    assert "; leaving it unchanged" in done.stdout + done.stderr
    assert api.written() == []


COMPLETE = {"succeeded": 1, "completionTime": "2026-11-21T08:00:09Z", "conditions": [{"type": "Complete", "status": "True"}]}


def complete_job(api, definitions):
    annotations = {"trainstep.dev/metrics": json.dumps(definitions)} if definitions else {}
    api.jobs = [JOB | {"metadata": JOB["metadata"] | {"annotations": annotations}, "status": COMPLETE}]
    api.pods = [ENDED]


@pytest.mark.parametrize(
    "written, metrics, said",
    [
        ([{"name": "loss", "regex": "loss is ([0-9.]+)"}], {"acc": 0.5, "loss": 0.25}, ""),
        ([{"name": "loss", "regex": "loss is ([0-9.]+)"}, {"name": "f1", "regex": "f1 is ([0-9.]+)"}], {"acc": 0.5, "loss": 0.25}, "no line matched job_options.metrics[1] (f1)"),
        ([{"name": "loss", "regex": "loss is ("}], {"loss": 9, "acc": 0.5}, "jobs/digits-1: its annotation trainstep.dev/metrics: job_options.metrics[0].regex: missing )"),
        (None, {"loss": 9, "acc": 0.5}, ""),
    ],
    ids=["defined", "unmatched", "broken", "none"],
)
def test_attach_uses_the_metric_definitions_of_the_step(api, environment, written, metrics, said, tmp_path):
    complete_job(api, written)
    api.says = " loss=9 acc=0.5 and the loss is 0.25"
    done = trainstep(environment, "attach", "r", "--metrics", str(tmp_path / "metrics"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "metrics").read_text()) == metrics
    told = done.stdout + done.stderr
    assert said in told if said else "annotation" not in told and "no line matched" not in told
    assert api.written() == []


def test_unmatched_patterns_are_not_reported_for_a_log_that_could_not_be_read(api, environment):
    complete_job(api, [{"name": "loss", "regex": "loss is ([0-9.]+)"}])
    api.forbidden.add("log pods")
    done = trainstep(environment, "attach", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "log of digits-1-x:" in done.stdout + done.stderr
    assert "no line matched" not in done.stdout + done.stderr


@pytest.mark.parametrize("words", [["list"], ["logs", "r"], ["logs", "r", "worker-7"], ["logs", "nobody"], ["attach", "nobody"]])
def test_attach_sends_only_get_requests(api, environment, words):
    api.pods = [ENDED]
    for forbidden in (set(), {"* pods"}, {"log pods"}, {"* pytorchjobs", "* mpijobs"}, {"* jobs"}):
        api.forbidden = forbidden
        trainstep(environment, *words)
    assert api.written() == []
    assert len(api.requests) > 5


@pytest.mark.parametrize("command", ["run", "check"])
def test_secrets_that_a_refusal_quotes_are_not_shown(api, environment, command, tmp_path):
    api.refusal = "literals key-12345678, db-12345678 and hf-12345678"
    specification = {"image": "a", "command": ["train", "--api-key", "key-12345678"], "env": {"DB_PASSWORD": "db-12345678"}}
    words = [command, "--context", "c", "--train-specification", json.dumps(specification)]
    words += ["--job-options", json.dumps({"environment": {"HF_TOKEN": "hf-12345678"}})]
    if command == "run":
        words += ["--log-level", "debug", "--record", str(tmp_path / "record"), "--report", str(tmp_path / "report.html")]
    ended = trainstep(environment, *words)
    told = ended.stdout + ended.stderr + "".join(file.read_text() for file in tmp_path.glob("re*"))
    assert ended.returncode == 2, told
    assert "literals [redacted], [redacted] and [redacted]" in told
    assert not re.search("(key|db|hf)-12345678", told)


@pytest.mark.parametrize("command", ["run", "check"])
def test_keys_of_the_configuration_secret_that_a_refusal_quotes_are_not_shown(api, environment, command, tmp_path):
    keys = {"minio-accesskey": "acc-12345678", "minio-secretkey": "sec-12345678"}
    values = {"minio-url": "store.example:9000", "minio-bucket": "bucket-1", **keys}
    api.secrets = [{"metadata": {"name": "training", "namespace": "lab"}, "data": {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}}]
    api.refusal = "literals acc-12345678, sec-12345678 and " + base64.b64encode(b"sec-12345678").decode()
    words = [command, "--context", "c", "--cluster-configuration-secret", "training", "--train-specification", json.dumps({"image": "a", "command": ["train"]})]
    message = tmp_path / "remark"
    message.touch()
    if command == "run":
        words += ["--log-level", "debug", "--record", str(tmp_path / "record"), "--report", str(tmp_path / "report.html")]
    ended = trainstep(environment | {"TRAINSTEP_TERMINATION_LOG": str(message)}, *words)
    told = [ended.stdout + ended.stderr] + [file.read_text() for file in sorted(tmp_path.glob("re*")) if command == "run"]
    assert ended.returncode == 2, told
    assert all("literals [redacted], [redacted] and [redacted]" in text for text in told), told
    assert not re.search("(acc|sec)-12345678|" + base64.b64encode(b"sec-12345678").decode(), "".join(told))


def test_logs_are_those_of_the_program(api, environment):
    api.pods = [ENDED]
    done = trainstep(environment, "logs", "r")
    assert done.returncode == 0, done.stderr
    assert "I am train" in done.stdout
    assert "I am aaa-proxy" not in done.stdout


def test_logs_says_why_it_waits(api, environment):
    api.broken = {"log pods"}
    words = [PROGRAM, "logs", "r"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL) as process:
        said = process.stdout.readline()
        process.kill()
    reason = "read the log of pods/digits-1-x: etcdserver: request timed out"
    assert f"log of digits-1-x: cannot be read at present ({reason}); trying again" in said, said


@pytest.mark.parametrize("run", ["", " ", "\n", "a,b", "a=b", "*", "r/", "r "])
@pytest.mark.parametrize("command", ["stop", "logs", "attach"])
def test_what_cannot_be_a_run_chooses_no_job(api, environment, command, run):
    done = trainstep(environment, command, run)
    assert done.returncode == 2, done.stdout
    assert "see trainstep list" in done.stderr
    assert api.requests == []


def test_with_rights_on_one_kind_its_jobs_are_listed_and_stopped(api, environment):
    api.forbidden = {"* pytorchjobs", "* tfjobs", "* mpijobs", "* pods", "* events"}
    listed = trainstep(environment, "list")
    assert listed.returncode == 0
    assert listed.stdout.splitlines()[1].split()[:4] == ["r", "Job", "digits-1", "running"]
    assert listed.stderr.count("cannot list all job types") == 1
    stopped = trainstep(environment, "stop", "r")
    assert (stopped.returncode, stopped.stdout) == (0, "jobs/digits-1 is deleted; no permission to see whether its pods are gone\n"), stopped.stderr
    assert len(api.written()) == 1


def test_a_list_that_a_server_did_not_complete_is_not_taken_for_one_without_jobs(api, environment):
    api.broken = {"list jobs"}
    listed = trainstep(environment, "list")
    assert listed.returncode == 3 and len(listed.stdout.splitlines()) == 1, listed.stdout + listed.stderr
    assert "cannot list all job types: list jobs: etcdserver: request timed out" in listed.stderr


def test_stop_says_that_its_step_has_created_the_job_again(api, environment):
    api.created_again = [JOB | {"metadata": JOB["metadata"] | {"uid": "u-2"}}]
    api.pods = []
    stopped = trainstep(environment, "stop", "r")
    assert stopped.returncode == 3 and stopped.stdout == "", stopped.stdout + stopped.stderr
    assert "jobs/digits-1 was deleted, but its step has created it again; stop it again" in stopped.stderr
    assert len([request for request in api.written() if request.startswith("DELETE")]) == 1


def test_stop_reports_where_data_remains_that_only_the_step_can_remove(api, environment):
    record = {"uri": "s3://bkt/jobs/digits-1/finished.json", "store": 0}
    task = {"job": "digits-1", "stores": [{"endpoint": "http://store:9000"}], "record": record}
    train = {"name": "train", "env": [{"name": "TRAINSTEP_TASK", "value": json.dumps(task)}]}
    api.jobs = [JOB | {"spec": {"template": {"spec": {"containers": [train]}}}}]
    stopped = trainstep(environment, "stop", "r")
    assert (stopped.returncode, stopped.stdout) == (0, "jobs/digits-1 and its pods are deleted\n"), stopped.stderr
    assert "are kept unless its step is still running and removes them: s3://bkt/jobs/digits-1; remove them with a client of that store" in stopped.stderr


def test_a_job_that_is_served_twice_is_one(api, environment):
    api.also_v1 = "mpijobs"  # by both versions, and as batch/v1: the same uid
    assert len(trainstep(environment, "list").stdout.splitlines()) == 2
    assert trainstep(environment, "stop", "r").returncode == 0


def test_a_job_whose_labels_were_removed_is_listed_and_found_by_name(api, environment):
    api.jobs = [JOB | {"metadata": JOB["metadata"] | {"labels": {"app.kubernetes.io/managed-by": "trainstep"}}}]
    assert trainstep(environment, "list").stdout.splitlines()[1].split()[:3] == ["<none>", "Job", "digits-1"]
    assert trainstep(environment, "stop", "digits-1").returncode == 0


CONFLICT = Api.refuse(409, "Operation cannot be fulfilled on jobs.batch: the object has been modified", "Conflict")
FORBIDDEN = Api.refuse(403, 'jobs.batch is forbidden: User "me" cannot delete resource "jobs"', "Forbidden")
NO_SUCH_PATH = Api.not_served()
GATEWAYS = (404, b"<html>default backend - 404</html>", False)


@pytest.mark.parametrize("odd", [CONFLICT, FORBIDDEN, NO_SUCH_PATH, GATEWAYS], ids=["conflict", "forbidden", "no such path", "gateway"])
def test_stop_accepts_only_a_response_about_its_job_as_its_end(api, environment, odd):
    api.odd = [odd]
    stopped = trainstep(environment, "stop", "r")
    assert (stopped.returncode, stopped.stdout) == (0, "jobs/digits-1 and its pods are deleted\n"), stopped.stderr
    assert len(api.written()) == 2 and not api.jobs


def test_stop_shows_no_secret_of_the_job_that_a_webhook_quotes(api, environment):
    secret = "hf_AbCdEfGhIjKlMnOp"
    train = {"name": "train", "env": [{"name": "HF_TOKEN", "value": secret}]}
    api.jobs = [JOB | {"spec": {"template": {"spec": {"containers": [train]}}}}]
    api.odd = [Api.refuse(403, f'admission webhook "guard" denied the request: {secret}', "Forbidden")]
    stopped = trainstep(environment, "stop", "r")
    assert stopped.returncode == 2, stopped.stderr
    assert "denied the request: [redacted]" in stopped.stderr and secret not in stopped.stderr


def test_stop_names_the_finalizer_that_it_waits_for(api, environment):
    api.finalizers = ["foregroundDeletion", "example.com/stuck"]
    stopping = subprocess.Popen([PROGRAM, "stop", "r"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = stopping.stderr.readline()
    assert "jobs/digits-1 is being deleted; waiting for its finalizer example.com/stuck (Ctrl-C only stops waiting)" in said
    api.jobs = []
    assert stopping.communicate(timeout=60)[0] == "jobs/digits-1 and its pods are deleted\n" and stopping.returncode == 0


@pytest.mark.parametrize("call", ["stop('')", "stop(' ')", "stop('--help')", "stop(None)", "logs('')", "logs('r', '--help')", "attach('', bar=False)", "stop('r\\n')"])
def test_python_rejects_an_invalid_name(api, environment, call, tmp_path):
    paths = {"PYTHONPATH": str(ROOT / "sdk"), "TRAINSTEP": str(PROGRAM)}
    words = ["/usr/bin/python3", "-B", "-c", f"import trainstep\ntrainstep.{call}"]
    done = subprocess.run(words, env=environment | paths, cwd=tmp_path, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "InputError: " in done.stderr
    assert "expected a name" in done.stderr
    assert api.requests == []


def test_python_lists_a_job_without_a_run(api, environment, tmp_path):
    api.jobs = [JOB | {"metadata": JOB["metadata"] | {"labels": {"app.kubernetes.io/managed-by": "trainstep"}}}]
    paths = {"PYTHONPATH": str(ROOT / "sdk"), "TRAINSTEP": str(PROGRAM)}
    words = ["/usr/bin/python3", "-B", "-c", "import trainstep\nfor job in trainstep.list_jobs(): print([job.run_id, job.name])"]
    done = subprocess.run(words, env=environment | paths, cwd=tmp_path, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.stdout == "['', 'digits-1']\n", done.stderr


def test_check_rejects_an_argument_that_the_kernel_does_not_accept(api, environment, tmp_path):
    (tmp_path / "specification").write_text(json.dumps({"image": "a", "command": ["x", "y" * 200_000]}))
    ended = trainstep(environment, "check", "--context", "c", "--train-specification", f"@{tmp_path / 'specification'}")
    assert ended.returncode == 2
    assert "train_specification: an argument of the program's command line has 200000 bytes" in ended.stderr
    assert api.written() == []


@pytest.mark.parametrize(
    "words, said",
    [
        (["--metrics", "folder"], "metrics: folder is a folder, but a file is written there"),
        (["--report", "file/report.html"], "file is not a folder; choose another path"),
        (["--model-dir", "file/model"], "file is not a folder; choose another path"),
        (["--report", "same", "--metrics", "same"], "both name same"),
        (["--report", "model/report.html", "--model-dir", "model"], "is in model_dir, which is replaced as a whole"),
    ],
)
def test_check_says_what_run_says_of_paths_of_the_step_and_creates_nothing(api, environment, tmp_path, words, said):
    step = tmp_path / "step"
    (step / "folder").mkdir(parents=True)
    (step / "file").touch()
    words = ["--context", "c", "--train-specification", json.dumps({"image": "a", "command": ["train"]}), *words]
    ran, checked = (trainstep(environment, command, *words, cwd=step) for command in ("run", "check"))
    assert said in ran.stderr, ran.stderr
    assert (checked.returncode, checked.stdout, checked.stderr) == (ran.returncode, "", ran.stderr)
    assert sorted(path.name for path in step.iterdir()) == ["file", "folder"]
    assert api.requests == []


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_secret_that_names_neither_a_cluster_nor_a_store_is_refused(api, environment, command):
    api.secrets = [{"metadata": {"name": "training", "namespace": "lab"}, "data": {"minio-bucket": "Yg=="}}]
    specification = json.dumps({"image": "a", "command": ["train"]})
    words = [command, "--context", "c", "--cluster-configuration-secret", "training", "--train-specification", specification]
    ended = trainstep(environment, *words)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert "cluster_configuration_secret: Secret training: requires remote-host or kubeconfig" in ended.stdout + ended.stderr
    assert api.written() == []
