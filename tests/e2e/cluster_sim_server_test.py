# SPDX-License-Identifier: Apache-2.0
"""The simulated API server behaves like the real one: each script sends both the same requests, and the results must be equal.

A script returns what it saw. Uids, versions and times differ between servers: scripts compare them within a server and return the result.
"""
import json
import os
import pathlib
import subprocess
import time
import urllib.parse

import pytest
from api import readable

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = {"without": ("training-operator", "mpi-operator")}  # only the script changes a PyTorchJob
SIM = pathlib.Path(os.environ.get("TRAINSTEP_SIM", ROOT / "build/release/tests/sim/sim"))
MERGE = {"Content-Type": "application/merge-patch+json"}
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PATIENCE_MS = 20_000


class Server:
    """ask() → (code, JSON or text). Paths begin below the namespace: "jobs" → /apis/kubeflow.org/v1/namespaces/NS/pytorchjobs."""

    GROUPS = {"pytorchjobs": "/apis/kubeflow.org/v1", "pods": "/api/v1", "jobs": "/apis/batch/v1"}

    def path(self, address: str) -> str:
        plural = address.split("/")[0].split("?")[0]
        return f"{self.GROUPS[plural]}/namespaces/{self.namespace}/{address}"

    def get(self, address, **headers):
        return self.ask("GET", self.path(address), headers=headers)

    def create(self, address, obj):
        return self.ask("POST", self.path(address), obj)

    def patch(self, address, change):
        return self.ask("PATCH", self.path(address), change, MERGE)

    def delete(self, address, **options):
        return self.ask("DELETE", self.path(address), options)

    def events(self, address):
        """What a watch of a second tells: [(type, name or code)], without bookmarks."""
        code, text = self.ask("GET", self.path(address + "&watch=true&timeoutSeconds=1"))
        if code == 410:  # servers say it in either form
            return [("ERROR", 410)]
        assert code == 200, text
        events = [json.loads(line) for line in (text if isinstance(text, str) else json.dumps(text)).splitlines()]
        return [(e["type"], e["object"].get("code") or e["object"]["metadata"]["name"]) for e in events if e["type"] != "BOOKMARK"]

    def until(self, address, code):
        """True when it is answered with this code within 20 s."""
        for _ in range(PATIENCE_MS // 100):
            if self.get(address)[0] == code:
                return True
            self.wait(100)
        return False


class Real(Server):
    def __init__(self, api, namespace):
        self.api, self.namespace = api, namespace

    def wait(self, milliseconds):
        time.sleep(milliseconds / 1000)

    def ask(self, method, path, body=None, headers=None):
        return self.api.ask(method, path, body, headers)


class Simulated(Server):
    namespace = "lab"

    def __init__(self):
        assert SIM.is_file(), f"{SIM} does not exist: tools/sim.sh makes it"
        self.process = subprocess.Popen([SIM, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _say(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def wait(self, milliseconds):
        self._say({"wait": milliseconds})

    def ask(self, method, path, body=None, headers=None):
        address, _, query = path.partition("?")
        plain = "&".join(f"{key}={value}" for key, value in urllib.parse.parse_qsl(query, keep_blank_values=True))
        request = {"method": method, "address": address + ("?" + plain if plain else ""), "headers": headers or {}}
        answer = self._say(request if body is None else {**request, "body": body})
        return answer["code"], readable(answer["text"])

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


def a_job(name, **metadata):
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}
    spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "Never", "template": template}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, **metadata}, "spec": spec}


def a_pod(name, owner=None, **metadata):
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": owner["name"], "uid": owner["uid"], "controller": True, "blockOwnerDeletion": True}
        ]
    # Unschedulable: no such node.
    spec = {"containers": [{"name": "train", "image": "train:1"}], "nodeSelector": {"no": "node"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def refusal(answer):
    """What a client judges a refusal by."""
    code, body = answer
    details = body.get("details") or {}
    return code, body["kind"], body["status"], body["reason"], body["message"], details.get("kind"), details.get("name")


def dry_run_leaves_nothing(server):
    code, made = server.create("pytorchjobs?dryRun=All", a_job("x"))
    return code, made["metadata"]["name"], "resourceVersion" in made["metadata"], refusal(server.get("pytorchjobs/x"))


def name_is_taken_once(server):
    code, made = server.create("pytorchjobs", a_job("x"))
    again = refusal(server.create("pytorchjobs", a_job("x")))
    dry = refusal(server.create("pytorchjobs?dryRun=All", a_job("x")))
    return code, again, dry, server.get("pytorchjobs/x")[1]["metadata"]["uid"] == made["metadata"]["uid"]


def wrong_objects_are_refused(server):
    wrong_kind = {**a_job("x"), "kind": "Job", "apiVersion": "batch/v1"}
    code, status = server.create("pytorchjobs", a_job("Not_A_Name"))
    return (
        (code, status["reason"], status["details"]["name"], [cause["field"] for cause in status["details"]["causes"]]),
        server.create("pytorchjobs", wrong_kind)[0],
        server.create("pytorchjobs", a_job("x", namespace="elsewhere"))[0],
    )


def what_is_not_served(server):
    group = server.ask("GET", "/apis/kubeflow.org/v7")
    plural = refusal(server.ask("GET", f"/apis/batch/v1/namespaces/{server.namespace}/cronjobbles"))
    served = {entry["name"]: entry["kind"] for entry in server.ask("GET", "/apis/kubeflow.org/v1")[1]["resources"]}
    return group, plural, served["pytorchjobs"]


def changes_know_whom_they_mean(server):
    made = server.create("pytorchjobs", a_job("x"))[1]["metadata"]
    other = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000", "annotations": {"a": "1"}}}
    server.create("pods", a_pod("p"))
    strangers = [refusal(server.patch(address, other))[:4] for address in ("pytorchjobs/x", "pods/p")]
    code, after = server.patch("pytorchjobs/x", {"metadata": {"uid": made["uid"], "annotations": {"a": "1"}}})
    same = server.patch("pytorchjobs/x", {"metadata": {"annotations": {"a": "1"}}})[1]["metadata"]["resourceVersion"]
    late = refusal(server.patch("pytorchjobs/x", {"metadata": {"resourceVersion": made["resourceVersion"], "annotations": {"a": "2"}}}))
    nobody = refusal(server.patch("pytorchjobs/y", {"metadata": {"annotations": {"a": "1"}}}))
    version = after["metadata"]["resourceVersion"]
    return strangers, code, after["metadata"]["annotations"], version != made["resourceVersion"], version == same, late, nobody


def deletions_know_whom_they_mean(server):
    made = server.create("pytorchjobs", a_job("x"))[1]["metadata"]
    uid, version = made["uid"], made["resourceVersion"]
    stranger = server.delete("pytorchjobs/x", preconditions={"uid": "00000000-0000-0000-0000-000000000000"})
    server.patch("pytorchjobs/x", {"metadata": {"annotations": {"a": "1"}}})
    late = server.delete("pytorchjobs/x", preconditions={"uid": uid, "resourceVersion": version})
    dry = server.delete("pytorchjobs/x", preconditions={"uid": uid}, dryRun=["All"])[0]
    there = server.get("pytorchjobs/x")[0]
    code = server.delete("pytorchjobs/x", preconditions={"uid": uid}, propagationPolicy="Foreground")[0]
    gone = server.until("pytorchjobs/x", 404)
    return [(c, body["reason"]) for c, body in (stranger, late)], dry, there, code, gone, refusal(server.delete("pytorchjobs/x"))


def options_of_a_deletion_stand_in_its_body(server):
    for name in ("x", "y"):
        server.create("pytorchjobs", a_job(name))
    alone = server.ask("DELETE", server.path("pytorchjobs/x?dryRun=All"))[0], server.get("pytorchjobs/x")[0]
    overruled = server.ask("DELETE", server.path("pytorchjobs/y?dryRun=All"), {"propagationPolicy": "Background"})[0], server.get("pytorchjobs/y")[0]
    return alone, overruled


def foreground_deletion_awaits_the_pods(server):
    owner = server.create("pytorchjobs", a_job("x"))[1]["metadata"]
    server.create("pods", a_pod("x-0", owner, finalizers=["test/hold"]))
    code, answer = server.delete("pytorchjobs/x", propagationPolicy="Foreground")
    server.wait(1500)
    waiting = server.get("pytorchjobs/x")[1]["metadata"]
    again = server.delete("pytorchjobs/x", propagationPolicy="Foreground")[0]
    ending = "deletionTimestamp" in server.get("pods/x-0")[1]["metadata"]
    patched = refusal(server.create("pytorchjobs", a_job("x")))
    server.patch("pods/x-0", {"metadata": {"finalizers": None}})
    return (
        code,
        answer["kind"],
        "deletionTimestamp" in waiting,
        waiting["finalizers"],
        waiting["uid"] == owner["uid"],
        again,
        ending,
        patched[:4],
        server.until("pods/x-0", 404),
        server.until("pytorchjobs/x", 404),
    )


def background_deletion_takes_the_pods_later(server):
    owner = server.create("pytorchjobs", a_job("x"))[1]["metadata"]
    server.create("pods", a_pod("x-0", owner))
    server.create("pods", a_pod("alone"))
    code, answer = server.delete("pytorchjobs/x", propagationPolicy="Background")
    at_once = server.get("pytorchjobs/x")[0]
    return code, answer["kind"], answer["status"], answer["details"]["kind"], at_once, server.until("pods/x-0", 404), server.get("pods/alone")[0]


def orphans_stay(server):
    owner = server.create("pytorchjobs", a_job("x"))[1]["metadata"]
    server.create("pods", a_pod("x-0", owner))
    # The garbage collector has seen the pod once it has removed a later one, whose owner does not exist: else it takes the pod for an orphan of that kind.
    server.create("pods", a_pod("y-0", owner | {"name": "y", "uid": "11111111-1111-4111-8111-111111111111"}))
    server.until("pods/y-0", 404)
    server.delete("pytorchjobs/x", propagationPolicy="Orphan")
    gone = server.until("pytorchjobs/x", 404)
    server.wait(1500)
    return gone, server.get("pods/x-0")[0], server.get("pods/x-0")[1]["metadata"].get("ownerReferences")


def lists_come_in_pages(server):
    for n in range(5):
        server.create("pytorchjobs", a_job(f"x-{n}", labels={"even": str(n % 2 == 0).lower(), "n": str(n)}))

    def pages(query):
        token, result = "", []
        while True:
            code, page = server.get(f"pytorchjobs?{query}" + (f"&continue={urllib.parse.quote(token)}" if token else ""))
            assert code == 200, page
            result.append([item["metadata"]["name"] for item in page["items"]])
            token = page["metadata"].get("continue", "")
            if not token:
                return result

    first = server.get("pytorchjobs?limit=2")[1]
    return (
        first["kind"],
        first["metadata"]["remainingItemCount"],
        pages("limit=2"),
        pages("labelSelector=even%3Dtrue"),
        pages("labelSelector=even%21%3Dtrue"),
        pages("labelSelector=n%20in%20(1,3,9)"),
        pages("labelSelector=even%3Dtrue,n%20notin%20(0)"),
        pages("labelSelector=n,%21odd"),
        pages("fieldSelector=metadata.name%3Dx-3"),
        pages("fieldSelector=metadata.name%3Dnobody"),
    )


def items_of_a_list_are_bare_where_the_kind_is_built_in(server):
    server.create("pods", a_pod("p"))
    server.create("pytorchjobs", a_job("x"))
    pod, job = (server.get(plural)[1] for plural in ("pods", "pytorchjobs"))
    return [(listed["kind"], listed["apiVersion"], [item.get("kind") for item in listed["items"]]) for listed in (pod, job)]


def metadata_alone(server):
    server.create("pytorchjobs", a_job("x", labels={"a": "b"}))
    one = server.get("pytorchjobs/x", Accept=METADATA_ONLY)[1]
    many = server.get("pytorchjobs", Accept=METADATA_ONLY.replace("Metadata", "MetadataList"))[1]
    return one["kind"], one["apiVersion"], "spec" in one, one["metadata"]["labels"], many["kind"], many["apiVersion"], "spec" in many["items"][0]


def watch_tells_what_happens_from_a_version_on(server):
    server.create("pytorchjobs", a_job("before"))
    version = server.get("pytorchjobs")[1]["metadata"]["resourceVersion"]
    server.create("pytorchjobs", a_job("x", labels={"mine": "yes"}))
    server.patch("pytorchjobs/x", {"metadata": {"annotations": {"a": "1"}}})
    server.create("pytorchjobs", a_job("y"))
    server.patch("pytorchjobs/y", {"metadata": {"labels": {"mine": "yes"}}})
    server.patch("pytorchjobs/x", {"metadata": {"labels": {"mine": None}}})
    server.delete("pytorchjobs/y", propagationPolicy="Background")
    server.until("pytorchjobs/y", 404)
    return (
        server.events(f"pytorchjobs?resourceVersion={version}"),
        server.events(f"pytorchjobs?resourceVersion={version}&labelSelector=mine%3Dyes"),  # what leaves the selection is told as deleted
        server.events(f"pytorchjobs?resourceVersion={version}&fieldSelector=metadata.name%3Dy"),
        sorted(server.events("pytorchjobs?labelSelector=none%3Dsuch")),
        server.events("pytorchjobs?fieldSelector=metadata.name%3Dbefore"),  # without a version: first what is there
    )


def watch_from_too_long_ago(server):
    server.create("pytorchjobs", a_job("x"))
    return server.events("pytorchjobs?resourceVersion=1")


def logs_that_are_not_there(server):
    server.create("pods", a_pod("p"))
    nobody, other = refusal(server.get("pods/nobody/log")), refusal(server.get("pods/p/log?container=other"))[:5]
    return nobody, other, server.get("pods/p/log"), server.get("pods/p/log?follow=true")  # without a place: neither log nor error


SCRIPTS = [
    dry_run_leaves_nothing,
    name_is_taken_once,
    wrong_objects_are_refused,
    what_is_not_served,
    changes_know_whom_they_mean,
    deletions_know_whom_they_mean,
    options_of_a_deletion_stand_in_its_body,
    foreground_deletion_awaits_the_pods,
    background_deletion_takes_the_pods_later,
    orphans_stay,
    lists_come_in_pages,
    items_of_a_list_are_bare_where_the_kind_is_built_in,
    metadata_alone,
    watch_tells_what_happens_from_a_version_on,
    watch_from_too_long_ago,
    logs_that_are_not_there,
]


@pytest.fixture
def simulated():
    server = Simulated()
    yield server
    server.close()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_both_answer_the_same(cluster, namespace, simulated, script):
    real = script(Real(cluster.api, namespace.name))
    assert script(simulated) == real
