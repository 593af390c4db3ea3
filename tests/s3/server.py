# SPDX-License-Identifier: Apache-2.0
"""A real S3 server for tests: versitygw, whose objects are files of a folder.

    with S3Server(folder) as server:
        server.make_bucket("data")
        user = server.make_user("reader")
        server.allow("data", user, ["s3:GetObject"], "sets/*")
        … server.url, server.root, user.access_key, server.file("data", "sets/one") …
"""
import contextlib
import http.client
import json
import pathlib
import secrets
import socket
import ssl
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))
from certificates import Authority  # noqa: E402

from signed import Signed  # noqa: E402

START_SECONDS = 20
STOP_SECONDS = 10


def programs() -> pathlib.Path:
    """The folder of versitygw, rclone and s5cmd."""
    done = subprocess.run([ROOT / "tests/s3/build"], stdout=subprocess.PIPE, text=True, check=True, stdin=subprocess.DEVNULL)
    return pathlib.Path(done.stdout.strip())


class S3Server:
    """It ends with the `with` block, and with this thread when that is killed. `tls`: with a certificate of an authority of its own (ca_file)."""

    def __init__(self, folder: pathlib.Path, tls=False):
        self.folder = pathlib.Path(folder)
        self.ca_file = self.folder / "authority/ca.crt" if tls else None
        self.root = None  # a Signed, may do everything
        self._programs = programs()
        self._policies = {}
        self._process = None

    def __enter__(self):
        for name in ("buckets", "users"):
            (self.folder / name).mkdir(parents=True)
        if self.ca_file:
            authority = Authority(self.folder / "authority")
            authority.create()
            authority.server("s3", "IP:127.0.0.1", "DNS:localhost")
        self._secret = secrets.token_hex(16)
        for _ in range(3):  # another process may take the port before the server does
            self.port = _free_port()
            self.start()
            if self._ready():
                break
            self.stop()
        else:
            raise AssertionError(f"versitygw does not start:\n{(self.folder / 'log').read_text()[-2000:]}")
        self.root = self.user("root-of-the-tests", self._secret)
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self) -> str:
        return f"http{'s' if self.ca_file else ''}://127.0.0.1:{self.port}"

    def user(self, access_key, secret_key) -> Signed:
        return Signed(self.url, access_key, secret_key, self.ca_file)

    def start(self):
        """Again at the same port after stop(): what it holds is as it was."""
        tls = ["--cert", str(self.folder / "authority/s3.crt"), "--key", str(self.folder / "authority/s3.key")] if self.ca_file else []
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                # By default it would close each connection after one answer, as no other server does, and keep its users' names for two minutes.
                ["setpriv", "--pdeathsig", "KILL", self._programs / "versitygw", "--port", f"127.0.0.1:{self.port}", "--keep-alive", "--quiet", *tls,
                 "--health", "/healthz", "--iam-dir", self.folder / "users", "--iam-cache-disable", "posix", self.folder / "buckets"],
                env={"ROOT_ACCESS_KEY": "root-of-the-tests", "ROOT_SECRET_KEY": self._secret, "PATH": "/usr/bin:/bin"},
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def stop(self):
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int:
        return self._process.pid

    def _ready(self):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self._health() == 200:
                    return True
            time.sleep(0.02)
        return False

    def _health(self):
        if self.ca_file:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=ssl.create_default_context(cafile=self.ca_file), timeout=2)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        with contextlib.closing(connection):
            connection.request("GET", "/healthz")
            return connection.getresponse().status

    def make_bucket(self, bucket):
        self.root.call("PUT", f"/{bucket}")

    def make_user(self, name) -> Signed:
        """Who may do nothing yet."""
        secret = secrets.token_hex(16)
        account = f"<Account><Access>{name}</Access><Secret>{secret}</Secret><Role>user</Role></Account>"
        self.root.call("PATCH", "/create-user", body=account.encode())
        return self.user(name, secret)

    def allow(self, bucket, user, actions, keys=None):
        """Adds to what a user may do: with objects whose keys match the pattern `keys`, else with the bucket itself."""
        resource = f"arn:aws:s3:::{bucket}" + (f"/{keys}" if keys else "")
        statements = self._policies.setdefault(bucket, [])
        statements.append({"Effect": "Allow", "Principal": {"AWS": [user.access_key]}, "Action": actions, "Resource": [resource]})
        policy = {"Version": "2012-10-17", "Statement": statements}
        self.root.call("PUT", f"/{bucket}", {"policy": ""}, json.dumps(policy).encode())

    def file(self, bucket, key="") -> pathlib.Path:
        """Where an object lies as a file; the folder of a prefix or of the whole bucket."""
        return self.folder / "buckets" / bucket / key


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
