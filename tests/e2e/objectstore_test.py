# SPDX-License-Identifier: Apache-2.0
"""`trainstep exec` with a real S3 server: downloads and uploads, byte for byte; denied access and its messages; faults of every request.

The inputs are put and the outputs are checked without the program: with the tests' own requests, and in the server's folder.
"""
import dataclasses
import filecmp
import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "s3"))
from fault_http import header  # noqa: E402
from server import S3Server  # noqa: E402
from store_proxy import Rule, StoreFault, StoreProxy, chaos, script  # noqa: E402

COPY = ["sh", "-c", 'cp -a "$0" "$1"']  # the training
ODD_NAMES = ["a b", "ünï/cödé", "100%", "%41", "1+1", "what?", "#", "&amp;", "x/y/z", "a'b\"c", "semi;colon", "star*", "~", "new\nline", "tab\t",
             "(p)[b]{c}", "back\\slash", "..dots", ".hidden/.file", "comma,=@$!|<>", "\U0001f600", "e\u0301", "n" * 255]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3") / "plain") as started:
        started.make_bucket("data")
        started.make_bucket("models")
        yield started


class Job:
    """One task, run as often as a test likes; `url` of a proxy instead of the server's."""

    def __init__(self, trainstep, server, folder, name):
        self.trainstep, self.server, self.folder, self.name = trainstep, server, folder, name
        self.keys = server.root
        self.data, self.model = folder / "in/data", folder / "out/model"
        self.data_uri, self.model_uri = f"s3://data/{name}", f"s3://models/{name}/model"
        self.record_uri = f"s3://models/{name}/job/finished.json"
        self.message = folder / "message"
        self.environment = None
        self.task = {
            "job": name,
            "attempt": "a1",
            "stores": [{"endpoint": server.url, "region": "us-east-1", "path_style": True}],
            "inputs": [{"name": "data", "uri": self.data_uri, "store": 0, "path": str(self.data)}],
            "outputs": [{"name": "model", "type": "artifact", "path": str(self.model), "uri": self.model_uri, "store": 0}],
            "record": {"uri": self.record_uri, "store": 0},
            "finishing_limit": 60,
        }

    def put(self, files):
        """{path below the data: content}; "" is the data itself."""
        for path, content in files.items():
            self.server.root.put("data", f"{self.name}/{path}" if path else self.name, content)

    def run(self, *program, url=None, check=None, timeout=120):
        """Whatever is not said is the training that copies the data to the model."""
        if url:
            self.task["stores"][0]["endpoint"] = url
        file = self.folder / "task.json"
        file.write_text(json.dumps(self.task))
        self.message.write_text("")
        words = program or (*COPY, str(self.data), str(self.model))
        keys = {"AWS_ACCESS_KEY_ID": self.keys.access_key, "AWS_SECRET_ACCESS_KEY": self.keys.secret_key}
        environment = {"TRAINSTEP_TERMINATION_LOG": str(self.message), **(keys if self.environment is None else self.environment)}
        done = self.trainstep("exec", "--task", file, "--", *words, env=environment, timeout=timeout, check=check)
        secrets = [self.keys.secret_key, self.server.root.secret_key]
        assert not any(secret in done.stderr + done.stdout + self.message.read_text() for secret in secrets)
        return done

    @property
    def delivered(self) -> pathlib.Path:
        """The model as the server has it."""
        return self.server.file("models", f"{self.name}/model")

    @property
    def record(self) -> pathlib.Path:
        return self.server.file("models", f"{self.name}/job/finished.json")

    def left(self) -> list:
        """Incomplete multipart uploads."""
        return [key for key in self.server.root.uploads("models") if key.startswith(self.name)]


@pytest.fixture
def job(trainstep, server, tmp_path, request):
    name = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:10]
    return Job(trainstep, server, tmp_path, name)


def tree(folder) -> dict:
    """{path: SHA-256} of all files, {path: None} of empty folders."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif not any(path.iterdir()):
            found[name] = None
    return found


def digests(files) -> dict:
    return {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}


def test_a_tree_is_transferred_byte_for_byte_whatever_its_names_are(job):
    files = {name: name.encode() * 3 for name in ODD_NAMES} | {"empty": b"", "deep/" * 12 + "file": os.urandom(100_000)}
    job.put(files)
    job.put({"empty folder/": b"", "sub/empty/": b""})
    done = job.run(check=0)
    assert tree(job.data) == digests(files) | {"empty folder": None, "sub/empty": None}
    assert tree(job.delivered) == digests(files)
    assert "trainstep: inputs: " in done.stderr and "trainstep: outputs: " in done.stderr
    record = json.loads(job.record.read_text())
    assert record["attempt"] == "a1"
    assert job.left() == []


def test_an_empty_file_is_an_input_but_no_output(job):
    job.put({"": b""})
    done = job.run(check=0)
    assert job.data.read_bytes() == b""
    assert not job.delivered.exists()
    assert not any("present" in output for output in json.loads(job.record.read_text())["outputs"])
    assert "trainstep: outputs: " not in done.stderr


@pytest.mark.parametrize("size", [1, 8 << 20, (8 << 20) + 1, (16 << 20) + 5])
def test_a_single_file_is_an_input_and_an_output(job, size):
    content = os.urandom(size)
    job.put({"": content})
    job.server.root.put("data", job.name + "-beside", b"is not fetched")
    job.run(check=0)
    assert job.data.read_bytes() == content
    assert job.delivered.read_bytes() == content
    assert job.left() == []


def test_two_thousand_small_files(job):
    files = {f"{i % 50}/{i}": os.urandom(i % 300) for i in range(2000)}
    job.put(files)
    job.run(check=0)
    assert tree(job.delivered) == digests(files)


def test_a_large_file_is_transferred_in_parts(job):
    content = os.urandom(1 << 20) * 200
    job.put({"weights": content})
    job.run(check=0)
    assert filecmp.cmp(job.data / "weights", job.delivered / "weights", shallow=False)
    assert (job.delivered / "weights").stat().st_size == len(content)
    assert job.left() == []


def test_over_tls_with_keys_from_files(trainstep, tmp_path):
    with S3Server(tmp_path / "s3", tls=True) as server:
        for bucket in ("data", "models"):
            server.make_bucket(bucket)
        job = Job(trainstep, server, tmp_path, "tls")
        job.put({"a": b"1", "b": os.urandom(20 << 20)})
        for name, value in (("access", server.root.access_key), ("secret", server.root.secret_key + "\n")):
            (tmp_path / name).write_text(value)
        job.environment = {}
        job.task["stores"][0] |= {"ca_file": str(server.ca_file), "access_key_file": str(tmp_path / "access"), "secret_key_file": str(tmp_path / "secret")}
        job.run(check=0)
        assert tree(job.delivered) == tree(job.data)
        job.task["attempt"] = "a2"
        del job.task["stores"][0]["ca_file"]
        assert "certificate" in job.run(check=2).stderr  # signed by an unknown authority


def test_leftovers_of_an_earlier_attempt_are_removed_and_other_objects_are_kept(job):
    job.put({"a": b"1", "b": b"2"})
    others = {"notes": b"somebody else's", "sub/more": b"too"}
    for path, content in others.items():
        job.server.root.put("models", f"{job.name}/model/{path}", content)
    job.server.root.put("models", f"{job.name}/model-beside", b"and beside it")
    done = job.run(check=0)
    assert tree(job.delivered) == digests({"a": b"1", "b": b"2", **others})
    assert "2 objects, such as \"notes\"," in done.stderr and "were not written by this job" in done.stderr
    job.task["attempt"] = "a2"
    job.run("sh", "-c", 'rm -r "$0" && mkdir "$0" && printf 3 >"$0/c"', str(job.model), check=0)
    assert tree(job.delivered) == digests({"c": b"3", **others})
    assert job.server.root.get("models", f"{job.name}/model-beside")


def test_a_finished_training_is_not_done_again(job):
    job.put({"a": b"1"})
    count = job.folder / "count"
    training = ["sh", "-c", 'echo x >> "$2"; cp -a "$0" "$1"', str(job.data), str(job.model), str(count)]
    for attempt, runs in (("a1", 1), ("a1", 1), ("a2", 2)):
        job.task["attempt"] = attempt
        job.run("sh", "-c", f"rm -rf {job.model} && exec \"$@\"", "sh", *training, check=0)
        assert len(count.read_text().split()) == runs


@pytest.mark.parametrize("end, code", [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
def test_a_program_that_fails_keeps_its_exit_code_and_delivers_nothing(job, end, code):
    job.put({"a": b"1"})
    job.run("sh", "-c", f"mkdir -p {job.model} && echo half > {job.model}/half; {end}", check=code)
    assert not job.delivered.exists() and not job.record.exists()


def test_an_unwritten_artifact_is_absent_and_an_unwritten_value_is_an_error(job):
    job.put({"a": b"1"})
    job.run("true", check=0)
    assert not job.delivered.exists()
    assert not json.loads(job.record.read_text())["outputs"][0].get("present")
    job.task["attempt"] = "a2"
    job.task["outputs"].append({"name": "accuracy", "type": "NUMBER_DOUBLE", "path": str(job.folder / "out/accuracy")})
    assert "accuracy: the program succeeded, but did not write its value" in job.run("true", check=1).stderr


# --- who may not, and what is not there -------------------------------------------------------------------------------------------------------------


def refused(job, *words, code=2):
    """Nothing was trained, and the message tells why, in the log and for the kubelet."""
    ran = job.folder / "ran"
    done = job.run("touch", str(ran), check=code)
    assert not ran.exists()
    for word in words:
        assert word in done.stderr
        assert word in job.message.read_text()
    assert not job.record.exists()


def test_wrong_keys(job):
    job.put({"a": b"1"})
    job.keys = job.server.user(job.server.root.access_key, "wrong")
    refused(job, "SignatureDoesNotMatch", "the secret key does not match")
    job.keys = job.server.user("nobody", "wrong")
    refused(job, "InvalidAccessKeyId", "unknown access key")
    job.environment = {}
    refused(job, "AWS_ACCESS_KEY_ID")


def test_a_bucket_that_is_not_there(job):
    job.task["inputs"][0]["uri"] = "s3://no-such-bucket/x"
    refused(job, "no-such-bucket", "NoSuchBucket", "correct its name")


def test_data_that_are_not_there(job):
    refused(job, "data", f"{job.data_uri} does not exist")


def test_a_bucket_for_the_model_that_is_not_there_is_found_before_the_training(job):
    job.put({"a": b"1"})
    job.task["outputs"][0]["uri"] = "s3://no-such-bucket/model"
    job.task["record"]["uri"] = "s3://no-such-bucket/job/finished.json"
    refused(job, "no-such-bucket", "NoSuchBucket")


def test_a_user_with_rights_for_prefixes_alone(job):
    job.put({"a": b"1", "b": os.urandom(20 << 20)})
    job.keys = job.server.make_user(f"user-{job.name}")
    job.server.allow("data", job.keys, ["s3:GetObject"], f"{job.name}/*")
    job.server.allow("data", job.keys, ["s3:ListBucket"])
    job.server.allow("models", job.keys, ["s3:PutObject", "s3:GetObject", "s3:DeleteObject", "s3:AbortMultipartUpload"], f"{job.name}/*")
    job.server.allow("models", job.keys, ["s3:ListBucket"])
    job.run(check=0)
    assert tree(job.delivered) == tree(job.data)
    job.task["attempt"] = "a2"
    job.task["inputs"][0]["uri"] = "s3://data/of-others"
    job.server.root.put("data", "of-others/a", b"secret")
    job.record.unlink()
    refused(job, "of-others", "AccessDenied")


def test_a_user_who_may_not_put_the_model_where_it_belongs(job):
    job.put({"a": b"1"})
    job.keys = job.server.make_user(f"user-{job.name}")
    job.server.allow("data", job.keys, ["s3:GetObject"], "*")
    job.server.allow("data", job.keys, ["s3:ListBucket"])
    job.server.allow("models", job.keys, ["s3:PutObject"], f"{job.name}/job/*")
    job.server.allow("models", job.keys, ["s3:ListBucket"])
    done = job.run(check=2)
    assert "cannot deliver outputs: model: " in done.stderr and "AccessDenied" in done.stderr
    assert "inputs: " not in done.stderr, "nothing was fetched, and no program has begun"
    assert not job.record.exists() and not job.delivered.exists()


@pytest.mark.parametrize("missing", ["s3:ListBucket", "s3:PutObject"])
def test_keys_that_lack_a_right_that_the_delivery_needs(job, missing):
    job.put({"a": b"1"})
    job.keys = job.server.make_user(f"user-{job.name}")
    job.server.allow("data", job.keys, ["s3:GetObject"], "*")
    job.server.allow("data", job.keys, ["s3:ListBucket"])
    job.server.allow("models", job.keys, ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"], f"{job.name}/job/*")
    if missing != "s3:PutObject":
        job.server.allow("models", job.keys, ["s3:PutObject"], f"{job.name}/model/*")
    if missing != "s3:ListBucket":
        job.server.allow("models", job.keys, ["s3:ListBucket"])
    done = job.run(check=2)
    assert "cannot deliver outputs: model: " in done.stderr and "AccessDenied" in done.stderr
    assert not job.record.exists() and not job.delivered.exists()


def test_keys_that_may_do_just_what_the_delivery_needs(job):
    job.put({"a": b"1"})
    job.keys = job.server.make_user(f"user-{job.name}")
    job.server.allow("data", job.keys, ["s3:GetObject"], "*")
    job.server.allow("data", job.keys, ["s3:ListBucket"])
    job.server.allow("models", job.keys, ["s3:PutObject"], f"{job.name}/*")
    job.server.allow("models", job.keys, ["s3:ListBucket"])
    job.run(check=0)
    assert job.record.exists() and job.delivered.exists()


@dataclasses.dataclass
class SessionKeys:
    """A user's keys, as a service gives them out for a while."""

    user: object
    token: str

    @property
    def access_key(self):
        return self.user.access_key

    @property
    def secret_key(self):
        return self.user.secret_key


class KeyService(http.server.ThreadingHTTPServer):
    """A container's credential service: gives out one answer after another, the last again and again."""

    def __init__(self, *keys):
        self.keys, self.asked = list(keys), 0
        super().__init__(("127.0.0.1", 0), KeyHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def environment(self):
        return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{self.server_port}/keys", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "pod",
                "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""}  # fmt: skip


class KeyHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        keys = self.server.keys[min(self.server.asked, len(self.server.keys) - 1)]
        self.server.asked += 1
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        answer = {"AccessKeyId": keys.access_key, "SecretAccessKey": keys.secret_key, "Token": getattr(keys, "token", ""), "Expiration": until}
        body = json.dumps(answer).encode()
        self.send_response(200 if self.headers["Authorization"] == "pod" else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_expired_temporary_credentials_are_fetched_again(job):
    job.put({"a": b"1"})
    expired = job.server.make_user(f"expired-{job.name}")
    rule = lambda request: StoreFault(answer=400) if expired.access_key in request.headers["Authorization"] else None  # noqa: E731
    with KeyService(expired, job.server.root) as service, StoreProxy(job.server, rule) as proxy:
        job.environment = service.environment
        job.run(check=0, url=proxy.url)
        assert tree(job.delivered) == tree(job.data)
        assert service.asked == 2
        service.keys, job.task["attempt"] = [expired], "a2"
        job.record.unlink()
        refused(job, "ExpiredToken", "the temporary credentials have expired")


class Expiry:
    """A schedule: from the first request that `when` names on, the keys count no longer; `mend` is called after so many refusals."""

    def __init__(self, is_old, when, mend=None, after=1):
        self.is_old, self.when, self.mend, self.after = is_old, when, mend, after
        self.over, self.refused = False, 0

    def __call__(self, request):
        self.over = self.over or self.when(request)
        if not self.over or not self.is_old(request):
            return None
        self.refused += 1
        if self.mend and self.refused == self.after:
            self.mend()
        return StoreFault(answer=400)


second_file = lambda request: request.method == "GET" and request.target.split("?")[0].endswith("/b")  # noqa: E731
second_part = lambda request: request.method == "PUT" and "partNumber=2" in request.target  # noqa: E731
EXPIRING = {"a": b"1" * 5000, "b": b"2" * 5000, "c": os.urandom(18 << 20)}


@pytest.fixture
def key_files(job):
    """The job's keys as a mounted Secret: → a function that replaces them, and gives the first ones."""
    old = job.server.make_user(f"old-{job.name}")
    files = {"access_key": job.folder / "keys/access", "secret_key": job.folder / "keys/secret"}
    (job.folder / "keys").mkdir()

    def write(keys):
        for name, file in files.items():
            file.with_suffix(".new").write_text(getattr(keys, name) + "\n")
            os.replace(file.with_suffix(".new"), file)

    # The old ones may do all that the new ones may: only the schedule makes them expire.
    for bucket in ("data", "models"):
        job.server.allow(bucket, old, ["s3:*"], "*")
        job.server.allow(bucket, old, ["s3:*"])
    write(old)
    job.environment = {}
    job.task["stores"][0] |= {f"{name}_file": str(file) for name, file in files.items()}
    job.old, job.write_keys = old, write
    return old


@pytest.mark.parametrize("when", [second_file, second_part], ids=["while data come in", "while the model goes out"])
def test_credentials_that_expire_during_a_transfer_are_read_again_from_their_files(job, key_files, when):
    job.put(EXPIRING)
    expiry = Expiry(lambda request: key_files.access_key in request.headers["Authorization"], when, lambda: job.write_keys(job.server.root))
    with StoreProxy(job.server, expiry) as proxy:
        done = job.run(check=0, url=proxy.url)
    assert expiry.refused >= 1 and "ExpiredToken" not in done.stderr
    assert tree(job.data) == digests(EXPIRING)
    assert tree(job.delivered) == digests(EXPIRING)
    assert job.record.exists() and job.left() == []


def test_credentials_that_expire_during_the_upload_are_waited_for(job, key_files):
    job.put(EXPIRING)
    old = lambda request: key_files.access_key in request.headers["Authorization"]  # noqa: E731
    expiry = Expiry(old, second_part, lambda: job.write_keys(job.server.root), after=9)
    with StoreProxy(job.server, expiry) as proxy:
        done = job.run(check=0, url=proxy.url)
    assert "output model: " in done.stderr and "ExpiredToken" in done.stderr and "trying again in" in done.stderr
    assert expiry.refused >= 9
    assert tree(job.delivered) == digests(EXPIRING)
    assert job.record.exists() and job.left() == []


def test_credentials_that_expire_for_good_during_the_download_fail_before_the_program_starts(job, key_files):
    job.put(EXPIRING)
    expiry = Expiry(lambda request: True, second_file)
    with StoreProxy(job.server, expiry) as proxy:
        job.task["stores"][0]["endpoint"] = proxy.url
        refused(job, "ExpiredToken", "the temporary credentials have expired")
    assert not (job.data / "b").exists()


def test_credentials_that_expire_for_good_during_the_upload_leave_no_complete_looking_model(job, key_files):
    job.put(EXPIRING)
    job.task["finishing_limit"] = 2
    expiry = Expiry(lambda request: True, second_part)
    with StoreProxy(job.server, expiry) as proxy:
        done = job.run(check=3, url=proxy.url)
    for word in ("output model: ", "ExpiredToken", "the temporary credentials have expired"):
        assert word in done.stderr and word in job.message.read_text()
    assert not job.record.exists() and not (job.delivered / "c").exists()
    # Another attempt, with keys again, does the training anew and ends well.
    job.write_keys(job.server.root)
    job.task["attempt"] = "a2"
    job.run("sh", "-c", 'rm -r "$1" && cp -a "$0" "$1"', str(job.data), str(job.model), check=0, url=job.server.url)
    assert tree(job.delivered) == digests(EXPIRING)


@pytest.mark.parametrize("when", [second_file, second_part], ids=["while data come in", "while the model goes out"])
def test_session_token_that_expires_during_a_transfer_is_fetched_again(job, when):
    job.put(EXPIRING)
    first, second = (SessionKeys(job.server.root, token) for token in ("first-token", "second-token"))
    expiry = Expiry(lambda request: header(request.headers, "x-amz-security-token") == "first-token", when)
    tokens = {keys.token: job.server.root for keys in (first, second)}
    with KeyService(first, second) as service, StoreProxy(job.server, expiry, tokens=tokens) as proxy:
        job.environment = service.environment
        done = job.run(check=0, url=proxy.url)
        assert {header(one.request.headers, "x-amz-security-token") for one in proxy.exchanges} == {"first-token", "second-token"}
        assert service.asked == 2
    assert "first-token" not in done.stderr and "second-token" not in done.stderr
    assert tree(job.delivered) == digests(EXPIRING)
    assert job.left() == []


# --- this machine -----------------------------------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_reported_and_leaves_no_partial_file(job, program):
    job.put({"large": os.urandom(12 << 20), "small": b"x"})
    disk = job.folder / "disk"
    disk.mkdir()
    job.task["inputs"][0]["path"] = str(disk / "data")
    (job.folder / "task.json").write_text(json.dumps(job.task))
    job.message.write_text("")
    script = 'mount -t tmpfs -o size=4m tmpfs "$0" && "$@"; code=$?; find "$0" -name "*.part"; exit $code'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, disk, program, "exec", "--task", job.folder / "task.json", "--", "touch", job.folder / "ran"],
        env={"PATH": os.environ["PATH"], "AWS_ACCESS_KEY_ID": job.keys.access_key, "AWS_SECRET_ACCESS_KEY": job.keys.secret_key,
             "TRAINSTEP_TERMINATION_LOG": str(job.message)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "No space left on device" in done.stderr and "No space left on device" in job.message.read_text()
    assert done.stdout == "" and not (job.folder / "ran").exists()


def test_a_server_that_is_away_when_the_training_ends_is_waited_for(trainstep, tmp_path):
    with S3Server(tmp_path / "s3") as server:
        for bucket in ("data", "models"):
            server.make_bucket(bucket)
        job = Job(trainstep, server, tmp_path, "away")
        job.put({"a": os.urandom(9 << 20)})
        trained, begun = tmp_path / "trained", tmp_path / "begun"
        over = threading.Event()  # the server ends with the thread that starts it
        back = threading.Thread(target=lambda: (wait_for(trained.exists), time.sleep(1), server.start(), over.wait(200)))
        stop = threading.Thread(target=lambda: (wait_for(begun.exists), server.stop(), (tmp_path / "go").touch()))
        for thread in (back, stop):
            thread.start()
        program = f'cp -a "$0" "$1"; touch {begun}; until [ -e {tmp_path / "go"} ]; do sleep 0.05; done; touch {trained}'
        try:
            job.run("sh", "-c", program, str(job.data), str(job.model), check=0)
        finally:
            over.set()
            for thread in (back, stop):
                thread.join()
        assert tree(job.delivered) == tree(job.data)
        assert job.record.exists()


def wait_for(condition, seconds=30):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


# --- faults -----------------------------------------------------------------------------------------------------------------------------------------

FILES = {"large": os.urandom(18 << 20), "empty": b"", "a/b c": b"x" * 5000, "ü": b"u"} | {f"many/{i}": bytes([i]) * i for i in range(20)}


def deliver_through(job, schedule) -> StoreProxy:
    """Runs the job through a proxy and holds its end against the promises."""
    job.put(FILES)

    def whole(request):
        """The finished record comes last."""
        if request.method == "PUT" and request.path.endswith("finished.json") and tree(job.delivered) != digests(FILES):
            return "the record was written although the model is not there"
        return None

    with StoreProxy(job.server, schedule, before=whole) as proxy:
        done = job.run(url=proxy.url)
        assert done.returncode == 0, f"{done.stderr}\n{proxy.story()}"
        assert proxy.problems == [], proxy.story()
    assert tree(job.data) == digests(FILES)
    assert tree(job.delivered) == digests(FILES)
    assert job.record.exists()
    assert job.left() == [], proxy.story()
    return proxy


FAULTS = {
    "before": StoreFault(cut="before"),
    "after": StoreFault(cut="after"),
    "head": StoreFault(cut="head"),
    "body": StoreFault(cut="body"),
    "chunk": StoreFault(cut="chunk"),
    "500": StoreFault(answer=500),
    "502": StoreFault(answer=502),
    "503": StoreFault(answer=503),
    "503 for a second": StoreFault(answer=503, retry_after=1),
    "504": StoreFault(answer=504),
    "silent": StoreFault(silence=0.5),
    "late": StoreFault(delay=0.3),
    "slow": StoreFault(split=200_000, slow=0.02),
    "a proxy's page": StoreFault(page="<html>please log in</html>"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_the_first_attempt_of_every_request_fails(job, fault):
    page = getattr(fault, "page", "")
    # The response to a GET of an object may be any bytes, so a wrong one cannot be recognised.
    fits = lambda request: not page or request.method != "GET" or "list-type" in request.target  # noqa: E731
    proxy = deliver_through(job, lambda request: fault if request.nth == 1 and fits(request) else None)
    assert len([one for one in proxy.exchanges if one.fault]) > 30


@pytest.mark.parametrize("seed", range(20))
def test_random_faults(job, seed):
    deliver_through(job, chaos(seed))


def test_a_part_that_is_refused_leaves_no_model_and_no_parts(job):
    job.put(FILES)
    job.task["finishing_limit"] = 2
    with StoreProxy(job.server, lambda request: StoreFault(answer=403) if "partNumber=2" in request.target else None) as proxy:
        done = job.run(url=proxy.url, check=3)
    assert "upload part 2" in done.stderr
    assert not (job.delivered / "large").exists() and not job.record.exists()
    assert job.left() == []


def test_an_object_that_changes_while_it_is_fetched_is_never_half_of_each(job):
    job.put({"large": os.urandom(40 << 20)})
    other = os.urandom(40 << 20)

    def change(request):
        if not request.headers.get("Range", "bytes=0-").startswith("bytes=0-"):
            job.server.root.put("data", f"{job.name}/large", other)

    with StoreProxy(job.server, before=change) as proxy:
        done = job.run(url=proxy.url)
    assert done.returncode in (2, 3) and "large" in done.stderr
    assert not (job.data / "large").exists() and not job.record.exists()
