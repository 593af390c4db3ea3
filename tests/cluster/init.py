# SPDX-License-Identifier: Apache-2.0
"""PID 1 of a test cluster's namespaces: network, process ids and mounts that are not shared with anything outside. Every server is its child, and the
kernel ends all of them when it exits; the network, the mounts and the containers go with them.

Started by sandbox.py in the cluster's folder with three file descriptors: `init.py ORDERS GATE LIFELINE`. Commands arrive through the Unix socket
`orders`, one JSON object in, one out; the servers' output goes to `log/`. GATE is a listening socket of the outer network, for gate.py. LIFELINE is a
pipe: when its other end is closed, the cluster's owner has gone.
"""
import json
import os
import selectors
import signal
import socket
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request


class Servers:
    """Methods are orders; what they return is the answer."""

    def __init__(self, gate: int):
        self.gate = gate
        self.commands = {}  # name → (argv, environment) as last started
        self.running = {}  # name → Popen
        self.kept = set()  # names of servers that are started again when they end by themselves

    def start(self, name, argv=None, env=None, keep=False):
        """Starts a server; without argv the one of that name as it was last started. With `keep` it is what a Deployment would make of it."""
        if name in self.running and self.running[name].poll() is None:
            return {"pid": self.running[name].pid}
        if argv:
            self.commands[name] = (argv, env or {})
            self.kept |= {name} if keep else set()
        if name not in self.commands:
            return {"error": f"{name!r} was never started, only {', '.join(sorted(self.commands))}"}
        argv, env = self.commands[name]
        with open(f"log/{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(
                argv,
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[self.gate] if name == "gate" else [],
            )
        return {"pid": self.running[name].pid}

    def stop(self, name, signal_name="TERM", seconds=2):
        """Ends a server and waits until it has ended, by SIGKILL when it does not listen; STOP and CONT only pause it."""
        process = self.running.get(name)
        if process is None:
            return {"error": f"{name!r} does not run, only {', '.join(sorted(self.running))}"}
        process.send_signal(getattr(signal, f"SIG{signal_name}"))
        if signal_name in ("STOP", "CONT"):
            return {}
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return {"exit": self.running.pop(name).returncode}

    def status(self):
        """name → null while it runs, else its exit code"""
        return {name: process.poll() for name, process in self.running.items()}

    def keep(self):
        for name in self.kept & self.running.keys():
            if self.running[name].poll() is not None:
                self.start(name)

    def get(self, url):
        """Asks an address inside; whether a server answers is all that counts, so its certificate does not."""
        trusting = ssl._create_unverified_context()
        try:
            with urllib.request.urlopen(url, timeout=1, context=trusting) as response:
                return {"code": response.status}
        except urllib.error.HTTPError as error:
            return {"code": error.code}
        except OSError as error:
            return {"code": 0, "reason": str(error)}

    def reap(self):
        """Orphans become children of the first process; those of self.running are left to their Popen."""
        ours = {process.pid for process in self.running.values()}
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) not in ours:
                try:
                    os.waitpid(int(entry), os.WNOHANG)
                except ChildProcessError:
                    pass


def answer(servers, connection):
    with connection, connection.makefile("rw") as stream:
        order = json.loads(stream.readline())
        try:
            result = getattr(servers, order.pop("do"))(**order)
        except OSError as error:
            result = {"error": str(error)}
        stream.write(json.dumps(result) + "\n")


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # The training-operator reads its certificate from a folder in /tmp and from nowhere else.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/tmp/k8s-webhook-server"], check=True)
    orders, gate, lifeline = map(int, sys.argv[1:])
    servers = Servers(gate)
    servers.start("gate", [sys.executable, os.path.join(os.path.dirname(__file__), "gate.py"), str(gate)])
    with socket.socket(fileno=orders) as orders, selectors.DefaultSelector() as events:
        events.register(orders, selectors.EVENT_READ)
        if stat.S_ISFIFO(os.fstat(lifeline).st_mode):
            events.register(lifeline, selectors.EVENT_READ)
        while True:
            for key, _ in events.select(1):
                if key.fileobj == lifeline:
                    return
                try:
                    connection = orders.accept()[0]
                    connection.settimeout(5)
                    answer(servers, connection)
                except (OSError, ValueError) as error:
                    print(f"an order failed: {error}", file=sys.stderr, flush=True)
            servers.keep()
            servers.reap()


if __name__ == "__main__":
    main()
