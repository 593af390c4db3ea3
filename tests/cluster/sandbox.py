# SPDX-License-Identifier: Apache-2.0
"""A sandbox for the servers of a test cluster: Linux namespaces for network, processes and mounts, held by init.py.

Every cluster has all ports to itself; the only way in from outside is the gate, on a free loopback port. Without root the same runs in a user namespace.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BACKLOG = 512
_HANDS_OUT = f"""
import socket, sys
with socket.socket(fileno=int(sys.argv[1])) as way, socket.create_server((sys.argv[2], int(sys.argv[3])), backlog={BACKLOG}) as made:
    socket.send_fds(way, [b"."], [made.fileno()])
"""


class ClusterError(Exception):
    """Something of the cluster does not do as it should; the message says what and where its log is."""


class Sandbox:
    """One world; its folder says which, so that another program finds it again."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self._lifeline = None

    @property
    def port(self) -> int:
        """The port of the gate, outside, and of the API server, inside: so the same kubeconfig serves both."""
        return int((self.folder / "port").read_text())

    def open(self, lifeline: bool):
        """Makes the world, empty. With a lifeline it ends with this process."""
        if self.alive():
            raise ClusterError(f"{self.folder}: a cluster runs there, tests/cluster/down ends it")
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "log").mkdir(parents=True)
        os.makedirs("/tmp/k8s-webhook-server", exist_ok=True)  # init.py mounts over it
        gate = listen_on_loopback()
        (self.folder / "port").write_text(str(gate.getsockname()[1]))
        theirs, ours = os.pipe() if lifeline else (os.open(os.devnull, os.O_RDONLY), None)
        with gate, self._orders("bind") as orders, open(self.folder / "log/init.log", "wb") as log:
            orders.listen()
            command = ["unshare", "--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]
            command += [] if os.getuid() == 0 else ["--user", "--map-root-user"]
            descriptors = [orders.fileno(), gate.fileno(), theirs]
            process = subprocess.Popen(
                [*command, sys.executable, str(HERE / "init.py"), *map(str, descriptors)],
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "TMPDIR": "/tmp", "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=descriptors,
                start_new_session=True,
            )
        os.close(theirs)
        self._lifeline = ours
        (self.folder / "process").write_text(f"{process.pid} {_start_time(process.pid)}")
        self.order("status")

    def alive(self) -> bool:
        return self._outer_pid() is not None

    def close(self):
        """Ends everything inside; the folder keeps only the logs."""
        outer = self._outer_pid()
        if outer is not None:
            inner = self._inner_pid()
            os.kill(inner or outer, signal.SIGKILL)
            wait_until(lambda: not self.alive(), 20, f"process {outer} to end")
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        for entry in self.folder.iterdir() if self.folder.is_dir() else []:
            if entry.name != "log":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def order(self, do: str, **arguments):
        """Has init.py do something, see its class Servers."""
        with self._orders("connect") as connection, connection.makefile("rw") as stream:
            stream.write(json.dumps({"do": do, **arguments}) + "\n")
            stream.flush()
            line = stream.readline()
        answer = json.loads(line) if line else {"error": f"no answer to {do}, see {self.folder}/log/init.log"}
        if "error" in answer:
            raise ClusterError(answer["error"])
        return answer

    def run(self, *command: str):
        """Runs a command inside to its end."""
        done = subprocess.run(self.enter(*command), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise ClusterError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def mount_memory(self, path: str):
        """A folder that is inside only, and gone at the end."""
        os.makedirs(path, exist_ok=True)
        self.run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path)

    def enter(self, *command: str) -> list:
        """The command line that runs a command inside."""
        user = [] if os.getuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", f"--target={self._inner_pid()}", *user, "--net", "--pid", "--mount", "--", *command]

    def listen(self, address: str, port: int) -> socket.socket:
        """A listening socket of the network inside, which a process elsewhere may serve."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            words = self.enter(sys.executable, "-c", _HANDS_OUT, str(theirs.fileno()), address, str(port))
            subprocess.run(words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, check=True, timeout=20)
            _, [descriptor], _, _ = socket.recv_fds(ours, 1, 1)
        return socket.socket(fileno=descriptor)

    @contextlib.contextmanager
    def _orders(self, verb):
        # Through /proc, as the address of a Unix socket may have 107 bytes and the folder any length.
        folder = os.open(self.folder, os.O_PATH)
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.settimeout(60)
                getattr(connection, verb)(f"/proc/self/fd/{folder}/orders")
                connection.settimeout(60 if verb == "connect" else None)
                yield connection
            except (FileNotFoundError, ConnectionRefusedError):
                raise ClusterError(f"{self.folder}: no cluster runs there") from None
            finally:
                os.close(folder)

    def _outer_pid(self):
        """unshare's, which waits for init.py; a number alone may have been given to another process since."""
        try:
            pid, started = (self.folder / "process").read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if _start_time(pid) == started else None

    def _inner_pid(self):
        outer = self._outer_pid()
        if outer is None:
            raise ClusterError(f"{self.folder}: no cluster runs there")
        children = pathlib.Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
        return int(children[0]) if children else None


def listen_on_loopback():
    """At a free port, asked for by its number: only so does the socket keep it while it does not listen, see gate.py."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with contextlib.suppress(OSError):  # another process was faster
            return socket.create_server(("127.0.0.1", port), backlog=BACKLOG)


def _start_time(pid):
    """In clock ticks since boot, as text; None when there is no such process or it is dead."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[19] if fields[0] not in "ZX" else None


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise ClusterError(f"waited {seconds} s for {what}")
        time.sleep(0.02)
