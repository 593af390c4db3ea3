# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes control plane with the operators, started for tests: real servers, fake or real nodes. README.md describes it.

    with Cluster(folder) as cluster:
        cluster.start(nodes="kwok", mpi="v2beta1")
        with cluster.namespace() as space:
            cluster.kubectl("create", "-n", space.name, "-f", "-", input=manifest)
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import time
import uuid

import control_plane
import fake_nodes
import operators
import real_node
from api import Api, ApiError
from certificates import Authority
from sandbox import HERE, ClusterError, Sandbox

ROOT = HERE.parents[1]

NODES = {"kwok": fake_nodes, "real": real_node, "two-real": real_node}

# The least that a step may do in its namespace.
STEP_RULES = [
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "delete", "get", "list", "patch", "watch"]},
    {
        "apiGroups": ["kubeflow.org"],
        "resources": ["jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"],
        "verbs": ["create", "delete", "get", "list", "patch", "watch"],
    },
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
]


@dataclasses.dataclass
class Namespace:
    """One test's own; `kubeconfig` is that of its service account `step`."""

    name: str
    kubeconfig: pathlib.Path
    token: str = dataclasses.field(repr=False)


class Cluster:
    IMAGE = "localhost/trainstep-tests:1"  # of the pods on a real node
    KUBECTL_IMAGE = "localhost/trainstep-tests-kubectl:1"
    PAUSE_IMAGE = "localhost/trainstep-tests-pause:1"

    def __init__(self, folder=ROOT / "build/cluster/default"):
        self.folder = pathlib.Path(folder).resolve()
        self.sandbox = Sandbox(self.folder)
        self.authority = Authority(self.folder / "pki")
        self.kubeconfig = self.folder / "admin.kubeconfig"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, nodes="kwok", mpi="v2beta1", without=(), lifeline=True):
        """Returns when everything is ready. `without` names operators to leave out. With a lifeline the cluster ends with this process, however that
        ends; without one, it stays until stop()."""
        if nodes != "kwok" and os.getuid() != 0:
            raise ClusterError("a real node needs root: containers are made there")
        programs = built_programs()
        self.sandbox.open(lifeline)
        try:
            (self.folder / "options.json").write_text(json.dumps({"nodes": nodes, "mpi": mpi, "without": list(without), "programs": str(programs)}))
            self._start(nodes, mpi, without)
        except BaseException:
            self.stop()
            raise

    def _start(self, nodes, mpi, without):
        self.authority.create()
        control_plane.certify(self.authority)
        self.authority.kubeconfig(self.kubeconfig, self.server, self.authority.certificate_user("admin"))
        node = NODES[nodes]
        node.certify(self.authority)
        node.connect(self)
        control_plane.start(self)
        control_plane.start_controllers(self)
        operators.define(self, mpi)
        wanted = [name for name in ("training-operator", *(["mpi-operator"] if mpi == "v2beta1" else [])) if name not in without]
        for name in wanted:
            operators.START[name](self, mpi)
        node.start(self)
        for name in wanted:
            operators.AWAIT[name](self)
        self.wait_for("controller-manager", 60, lambda: self.api.get("/api/v1/namespaces/default/serviceaccounts/default"))
        self.wait_for(node.SERVER, 60, self._nodes_ready)

    def stop(self):
        """Ends everything; the folder keeps the logs."""
        self.sandbox.close()
        real_node.remove_cgroups(self.folder)

    # For tests

    @property
    def options(self) -> dict:
        """How it was started: nodes, mpi, without, programs."""
        return json.loads((self.folder / "options.json").read_text())

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.sandbox.port}"

    @property
    def api(self) -> Api:
        """Requests as an administrator."""
        return Api(self.sandbox.port, *(self.authority.path(name) for name in ("ca.crt", "admin.crt", "admin.key")))

    def kubectl(self, *arguments, input=None, timeout=60):
        """kubectl as an administrator: what it prints, as JSON where it can print that."""
        words = [str(self.programs / "bin/kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments]
        prints_json = arguments[0] in ("get", "create", "apply", "patch", "annotate", "label", "replace", "scale")
        words += ["--output=json"] if prints_json and not any(a.startswith(("-o", "--output", "--raw")) for a in arguments) else []
        text = input if input is None or isinstance(input, str) else json.dumps(input)
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout) if "--output=json" in words and done.stdout else done.stdout

    @contextlib.contextmanager
    def namespace(self, rules=STEP_RULES):
        """A namespace of its own with a service account `step` that may do what `rules` say and nothing else. It is deleted at the end, without
        waiting."""
        name = f"test-{uuid.uuid4().hex[:8]}"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        rights = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{name}"
        subject = {"kind": "ServiceAccount", "name": "step", "namespace": name}
        self.api.create(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "step"}})
        self.api.create(f"{rights}/roles", {"metadata": {"name": "step"}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "step"}
        self.api.create(f"{rights}/rolebindings", {"metadata": {"name": "step"}, "roleRef": role, "subjects": [subject]})
        if rules:
            self.wait_for("apiserver", 30, lambda: self._may(name, rules[0]))  # it reads new roles a moment later
        token = self.token(name)
        file = self.folder / f"{name}.kubeconfig"
        self.authority.kubeconfig(file, self.server, {"token": token}, namespace=name)
        try:
            yield Namespace(name, file, token)
        finally:
            self.api.delete(f"/api/v1/namespaces/{name}")
            file.unlink()

    def _may(self, namespace: str, rule: dict) -> bool:
        resource, _, subresource = rule["resources"][0].partition("/")
        attributes = {"namespace": namespace, "verb": rule["verbs"][0], "group": rule["apiGroups"][0], "resource": resource, "subresource": subresource}
        attributes["name"] = rule.get("resourceNames", [""])[0]
        review = {"spec": {"user": f"system:serviceaccount:{namespace}:step", "resourceAttributes": attributes}}
        return self.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]

    def end_of(self, namespace: Namespace, job, seconds=60) -> dict:
        """The condition that ends a job, (resource, name), as its operator writes it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            status = self.kubectl("get", *job, "-n", namespace.name).get("status", {})
            for condition in status.get("conditions", []):
                if condition["type"] in ("Complete", "Succeeded", "Failed") and condition["status"] == "True":
                    return condition
            time.sleep(0.1)
        raise ClusterError(f"{'/'.join(job)} has not ended after {seconds} s: {json.dumps(status)}")

    def token(self, namespace: str, account="step", seconds=3600) -> str:
        """A token of a service account; the API server gives none for less than ten minutes."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        return self.api.create(path, {"spec": {"expirationSeconds": seconds}})["status"]["token"]

    def requests(self, namespace: str) -> list:
        """What the service accounts of a namespace asked of the API server, as its audit log has it."""
        user = f"system:serviceaccount:{namespace}:"
        with open(self.folder / "log/audit.log", encoding="utf-8") as log:
            events = (json.loads(line) for line in log if user in line)
            return [event for event in events if event["user"]["username"].startswith(user)]

    def stop_server(self, name: str, signal_name="TERM"):
        """Ends one server (see status()), or pauses it with STOP; the others stay."""
        self.sandbox.order("stop", name=name, signal_name=signal_name)

    def start_server(self, name: str):
        """Starts a stopped server as it was. A paused one goes on."""
        if self.status().get(name, 0) is None:
            self.sandbox.order("stop", name=name, signal_name="CONT")
        else:
            self.sandbox.order("start", name=name)

    def status(self) -> dict:
        """Server → None while it runs, else its exit code; stopped ones are absent."""
        return self.sandbox.order("status")

    # For the modules that start the servers

    def launch(self, name, *arguments, program=None, env=None, keep=False):
        """Starts a server: the program of that name, or another one. One that is kept is started again whenever it ends by itself."""
        self.sandbox.order("start", name=name, argv=[str(self.programs / "bin" / (program or name)), *arguments], env=env, keep=keep)

    @property
    def programs(self) -> pathlib.Path:
        """What tests/cluster/build made: bin/, crds/."""
        return pathlib.Path(self.options["programs"])

    def kubeconfig_for(self, name: str) -> pathlib.Path:
        file = self.folder / f"{name}.kubeconfig"
        if not file.exists():
            self.authority.kubeconfig(file, self.server, self.authority.certificate_user(name))
        return file

    def answers(self, url: str) -> bool:
        """Whether a server inside answers with success."""
        return self.sandbox.order("get", url=url)["code"] == 200

    def wait_for(self, name: str, seconds: float, condition):
        """Until the condition holds; what it cannot query yet counts as no. A server that ended ends the wait."""
        end = time.monotonic() + seconds
        reason = ""
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except (ApiError, ClusterError, OSError) as error:
                reason = f": {error}"
            if self.status().get(name) is not None:
                break
            time.sleep(0.05)
        log = self.folder / "log" / f"{name}.log"
        tail = "".join(log.read_text(errors="replace").splitlines(keepends=True)[-20:]) if log.exists() else ""
        raise ClusterError(f"{name} is not ready after {seconds} s{reason}\n{tail}")

    def _nodes_ready(self) -> bool:
        nodes = self.api.get("/api/v1/nodes")["items"]
        ready = [c for node in nodes for c in node["status"].get("conditions", []) if c["type"] == "Ready" and c["status"] == "True"]
        return len(nodes) >= (2 if self.options["nodes"] == "two-real" else 1) and len(ready) == len(nodes)


def built_programs() -> pathlib.Path:
    """Builds them when they are not in the cache yet, which takes minutes."""
    done = subprocess.run([HERE / "build"], stdout=subprocess.PIPE, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ClusterError("tests/cluster/build failed")
    return pathlib.Path(done.stdout.strip())
