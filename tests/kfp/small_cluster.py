# SPDX-License-Identifier: Apache-2.0
"""A minimal cluster over HTTP: an API server that supports Jobs, whose one pod ends at once as a test chooses, and an object store.

    cluster = SmallCluster(store, lambda pod: Ended(report={"outputs": […]}))  # store: "bucket/key" → content, as v2.Backend has it
    environment = cluster.environment(folder)                                 # KUBECONFIG and keys

The pod's program is a function of the test: it gets its container's variables, puts objects into the store, and returns how it ended. The agent's report
is in the format of result/pod_report.h.
"""
import dataclasses
import http.server
import json
import pathlib
import re
import threading
import urllib.parse

NAMESPACE = "team-a"


@dataclasses.dataclass
class Ended:
    report: dict | None = None  # the agent's, besides what every report says; None: there is none
    code: int = 0
    log: str = ""


class SmallCluster:
    def __init__(self, store: dict, program):
        self.store, self.program = store, program
        self.objects = {}  # path → object
        self.logs = {}  # pod → text
        self.requests = []  # "METHOD path"
        self.refused = {}  # beginning of "METHOD path" → HTTP status
        self.changed = threading.Condition()
        self.version = 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"cluster": self}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        at = f"{{endpoint: '127.0.0.1:{self.server.server_port}', disableSSL: true, forcePathStyle: true, credentials: {{fromEnv: true}}}}"
        self.put("/api/v1", "configmaps", {"metadata": {"name": "kfp-launcher"}, "data": {"providers": f"minio: {{default: {at}}}"}})

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def environment(self, folder: pathlib.Path) -> dict:
        address = f"http://127.0.0.1:{self.server.server_port}"
        (folder / "kubeconfig").write_text(json.dumps({
            "current-context": "small", "contexts": [{"name": "small", "context": {"cluster": "small", "user": "me", "namespace": NAMESPACE}}],
            "clusters": [{"name": "small", "cluster": {"server": address}}], "users": [{"name": "me", "user": {"token": "token"}}],
        }))
        return {"KUBECONFIG": str(folder / "kubeconfig"), "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}

    def put(self, group, plural, new):
        """Makes an object, or another version of it; tells who watches."""
        with self.changed:
            self.version += 1
            meta = new["metadata"]
            meta.setdefault("namespace", NAMESPACE)
            meta.setdefault("uid", f"uid-{self.version}")
            meta.setdefault("creationTimestamp", "2026-11-22T08:00:00Z")
            meta["resourceVersion"] = str(self.version)
            self.objects[f"{group}/namespaces/{NAMESPACE}/{plural}/{meta['name']}"] = new
            self.changed.notify_all()
        return new

    def run(self, job):
        """Its pod ends at once, and the Job with it."""
        name, template = job["metadata"]["name"], job["spec"]["template"]
        container = template["spec"]["containers"][0]
        ended = self.program({variable["name"]: variable.get("value") for variable in container.get("env", [])})
        message = ""
        if ended.report is not None:
            task = next(json.loads(v["value"]) for v in container["env"] if v["name"] == "TRAINSTEP_TASK")
            said = {"trainstep_report": 1, "class": "user" if ended.code else "succeeded", "exit_code": ended.code, "primary": True, **ended.report}
            message = json.dumps({**said, "attempt": task["attempt"]})
        state = {"exitCode": ended.code, "reason": "Error" if ended.code else "Completed", "message": message, "startedAt": "2026-11-22T08:00:01Z",
                 "finishedAt": "2026-11-22T08:00:02Z"}
        labels = {**template["metadata"].get("labels", {}), "batch.kubernetes.io/job-name": name, "job-name": name}
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"], "controller": True}
        self.logs[f"{name}-0"] = ended.log
        self.put("/api/v1", "pods", {
            "metadata": {"name": f"{name}-0", "labels": labels, "ownerReferences": [owner]}, "spec": {**template["spec"], "nodeName": "node"},
            "status": {"phase": "Failed" if ended.code else "Succeeded", "startTime": "2026-11-22T08:00:01Z",
                       "containerStatuses": [{"name": container["name"], "restartCount": 0, "state": {"terminated": state}}]},
        })
        condition = {"type": "Failed" if ended.code else "Complete", "status": "True", "reason": "", "message": ""}
        self.put("/apis/batch/v1", "jobs", {**job, "status": {"conditions": [condition], "failed" if ended.code else "succeeded": 1}})

    def remove(self, path):
        with self.changed:
            gone = self.objects.pop(path, None)
            if gone and "/jobs/" in path:
                pods = [p for p, o in self.objects.items() if any(r["uid"] == gone["metadata"]["uid"] for r in o["metadata"].get("ownerReferences", []))]
                for pod in pods:
                    del self.objects[pod]
            self.version += 1
            self.changed.notify_all()
        return gone

    def selected(self, collection, query):
        fields = dict(part.split("=", 1) for part in query.get("fieldSelector", "").split(",") if "=" in part)
        labels = dict(part.split("=", 1) for part in query.get("labelSelector", "").split(",") if "=" in part)
        with self.changed:
            return {
                path: one for path, one in self.objects.items()
                if path.rpartition("/")[0] == collection and fields.get("metadata.name", one["metadata"]["name"]) == one["metadata"]["name"]
                and "involvedObject.name" not in fields
                and all(one["metadata"].get("labels", {}).get(key) == value for key, value in labels.items())
            }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: SmallCluster

    def log_message(self, *_):
        pass

    def do(self):
        url = urllib.parse.urlsplit(self.path)
        path, query = urllib.parse.unquote(url.path), dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        line = f"{self.command} {path}"
        self.cluster.requests.append(line)
        for beginning, status in self.cluster.refused.items():
            if line.startswith(beginning):
                return self.refuse(status)
        if path.startswith(("/api/", "/apis/")):
            return self.api(path, query, body)
        return self.objects(path.lstrip("/"), query, body)

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = do_HEAD = do

    def answer(self, value, status=200, headers=()):
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers:
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def refuse(self, status):
        if self.path.startswith(("/api/", "/apis/")):
            reason = {403: "Forbidden", 404: "NotFound"}.get(status, "InternalError")
            told = {"kind": "Status", "status": "Failure", "code": status, "reason": reason, "message": f"{reason}: {self.path}"}
            return self.answer(told | ({"details": {"name": self.path.partition("?")[0].rpartition("/")[2]}} if status == 404 else {}), status)
        code = {403: "AccessDenied", 404: "NoSuchKey"}.get(status, "InternalError")
        return self.answer(f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode(), status)

    def api(self, path, query, body):
        collection, _, name = path.rpartition("/")
        if path.endswith("/log"):
            return self.answer(self.cluster.logs.get(collection.rpartition("/")[2], "").encode())
        if self.command == "POST":
            group, plural = re.fullmatch(r"(.*)/namespaces/[^/]+/([^/]+)", path).groups()
            new = json.loads(body)
            if "dryRun" in query:
                return self.answer(new, 201)
            self.cluster.put(group, plural, new)
            self.answer(new, 201)
            if plural == "jobs":
                threading.Timer(0.05, self.cluster.run, [new]).start()
            return None
        if path in self.cluster.objects:
            if self.command == "DELETE":
                return self.answer(self.cluster.remove(path))
            if self.command == "PATCH":
                return self.answer(self.cluster.objects[path])
            return self.answer(self.cluster.objects[path])
        if path == "/apis/batch/v1":
            resource = {"name": "jobs", "kind": "Job", "namespaced": True, "verbs": ["create", "delete", "get", "list", "patch", "watch"]}
            return self.answer({"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [resource]})
        if self.command == "GET" and re.fullmatch(r".*/namespaces/[^/]+/[^/]+", path):
            return self.watch(path, query) if query.get("watch") == "true" else self.list(path, query)
        return self.refuse(404)

    def list(self, path, query):
        items = list(self.cluster.selected(path, query).values())
        self.answer({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": str(self.cluster.version)}, "items": items})

    def watch(self, path, query):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        known = {p: int(query.get("resourceVersion") or 0) for p in self.cluster.selected(path, query)}
        seen = {p: o for p, o in self.cluster.selected(path, query).items() if int(o["metadata"]["resourceVersion"]) <= known[p]}
        try:
            while True:
                now = self.cluster.selected(path, query)
                for name, one in now.items():
                    if seen.get(name, {}).get("metadata", {}).get("resourceVersion") != one["metadata"]["resourceVersion"]:
                        self.event("MODIFIED" if name in seen else "ADDED", one)
                for name in set(seen) - set(now):
                    self.event("DELETED", seen[name])
                seen = now
                with self.cluster.changed:
                    self.cluster.changed.wait(0.2)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def event(self, kind, one):
        line = json.dumps({"type": kind, "object": one}).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()

    def objects(self, key, query, body):
        store = self.cluster.store
        etag = [("ETag", '"0123456789abcdef"')]
        if self.command == "PUT":
            store[key] = body
            return self.answer(b"", headers=etag)
        if self.command == "DELETE":
            store.pop(key, None)
            return self.answer(b"", 204)
        if "list-type" in query:
            prefix = key.rstrip("/") + "/" + query.get("prefix", "")
            found = [(name, len(content)) for name, content in sorted(store.items()) if name.startswith(prefix)]
            items = "".join(f"<Contents><Key>{name.partition('/')[2]}</Key><Size>{size}</Size><ETag>&quot;0&quot;</ETag></Contents>" for name, size in found)
            return self.answer(f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>".encode())
        if "uploads" in query:
            return self.answer(b"<ListMultipartUploadsResult></ListMultipartUploadsResult>")
        return self.answer(store[key], headers=etag) if key in store else self.refuse(404)
