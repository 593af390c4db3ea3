# SPDX-License-Identifier: Apache-2.0
"""Serves the logs of fake nodes, as a kubelet does: `fake_logs.py ADDRESS PORT API_PORT PKI_FOLDER`. A pod's annotations determine what it prints.

The lines of a container and their times depend only on its pod: line i is printed `fate/log-every-ms` after the previous one, the first when the
container starts. So a reconnect, or another attempt, can be checked to the byte. A stream with `follow` ends with its container, as a kubelet's does.
"""
import datetime
import http.server
import pathlib
import ssl
import sys
import time
import urllib.parse

from api import Api, ApiError

POLL_SECONDS = 0.1


def parse_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def annotation(pod, name):
    """fate/NAME, or that of this replica alone."""
    labels, annotations = (pod["metadata"].get(key, {}) for key in ("labels", "annotations"))
    role = labels.get("training.kubeflow.org/replica-type") or labels.get("training.kubeflow.org/job-role") or "main"
    index = labels.get("training.kubeflow.org/replica-index") or labels.get("batch.kubernetes.io/job-completion-index") or "0"
    return annotations.get(f"{role}-{index}.fate/{name}", annotations.get(f"fate/{name}", ""))


class Run:
    """One run of a container: the present one, or the one before its restart."""

    def __init__(self, pod, container, previous):
        statuses = pod["status"].get("initContainerStatuses", []) + pod["status"].get("containerStatuses", [])
        status = next((status for status in statuses if status["name"] == container), {})
        state = status.get("lastState" if previous else "state", {})
        if state.get("waiting", {}).get("reason") == "CrashLoopBackOff":
            state = status.get("lastState", {})  # a kubelet shows the log of the run that has ended last
        at = state.get("running") or state.get("terminated") or {}
        self.started = parse_time(at.get("startedAt"))
        self.ended = parse_time(at.get("finishedAt"))
        self.waits_for = state.get("waiting", {}).get("reason") or "ContainerCreating"
        self.megabytes = int(annotation(pod, "log-megabytes") or 0)
        self._pod = pod

    def lines(self):
        """(time, text) of all that was printed so far."""
        text, count, every = (annotation(self._pod, name) for name in ("log", "log-lines", "log-every-ms"))
        texts = text.split("\n") if text else [f"line {i}" for i in range(int(count or 0))]
        # A microsecond apart at least, so that times tell them apart.
        step = datetime.timedelta(milliseconds=float(every)) if every else datetime.timedelta(microseconds=1)
        until = self.ended or datetime.datetime.now(datetime.timezone.utc)
        for i, line in enumerate(texts):
            at = self.started + i * step
            if every and at > until:
                return
            yield at, line


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api = None

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = {name: values[-1] for name, values in urllib.parse.parse_qs(url.query).items()}
        _, kind, namespace, pod, container = url.path.split("/")
        if kind != "containerLogs":
            self.refuse(404, "only logs are served here")
            return
        try:
            self.log_of(lambda: Run(self.api.get(f"/api/v1/namespaces/{namespace}/pods/{pod}"), container, query.get("previous") == "true"), query)
        except ApiError as error:
            self.refuse(error.code, str(error))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_of(self, look, query):
        run = look()
        if run.started is None:
            self.refuse(400, f"container is waiting to start: {run.waits_for}")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        lines = list(run.lines())
        shown = len(lines)
        self.show(select(lines, query), query)
        self.flood(run, query)
        while query.get("follow") == "true" and run.ended is None:
            time.sleep(POLL_SECONDS)
            try:
                now = look()
            except ApiError:
                break
            if now.started != run.started:
                break
            run = now
            lines = list(run.lines())
            self.show(lines[shown:], query)
            shown = len(lines)
        self.chunk(b"")

    def show(self, lines, query):
        stamped = query.get("timestamps") == "true"
        text = "".join(f"{at:%Y-%m-%dT%H:%M:%S.%f}000Z {line}\n" if stamped else f"{line}\n" for at, line in lines)
        if text:
            self.chunk(text.encode())

    def flood(self, run, query):
        """As many megabytes as the pod says, at once; lines of a hundred bytes without the time in front of them."""
        stamp = f"{run.started:%Y-%m-%dT%H:%M:%S.%f}000Z " if query.get("timestamps") == "true" else ""
        megabyte = f"{stamp}{'x' * 99}\n".encode() * 10_000
        for _ in range(run.megabytes):
            self.chunk(megabyte)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def refuse(self, code, message):
        self.send_response(code)
        self.send_header("Content-Length", str(len(message.encode())))
        self.end_headers()
        self.wfile.write(message.encode())


def select(lines, query):
    """sinceTime, sinceSeconds and tailLines of a request."""
    since = parse_time(query.get("sinceTime"))
    if "sinceSeconds" in query:
        since = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=int(query["sinceSeconds"]))
    lines = [line for line in lines if since is None or line[0] >= since]
    tail = int(query.get("tailLines", len(lines)))
    return lines[len(lines) - min(tail, len(lines)) :]


def main():
    address, port, api_port, pki = sys.argv[1:]
    path = pathlib.Path(pki)
    Handler.api = Api(int(api_port), *(path / name for name in ("ca.crt", "operators.crt", "operators.key")))
    server = http.server.ThreadingHTTPServer((address, int(port)), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path / "server.crt", path / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


if __name__ == "__main__":
    main()
