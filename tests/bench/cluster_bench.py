# SPDX-License-Identifier: Apache-2.0
"""The cost of a step on a real control plane compared with the alternatives, measured in one run.

Usage: cluster_bench.py PROGRAM PYTHON, where PYTHON has the packages of requirements/clients.txt. Times are medians; the real operator ends the jobs.
"""
import concurrent.futures
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))
import contestants  # noqa: E402
import steps  # noqa: E402
from cluster import Cluster  # noqa: E402
from processes import cpu, end, resident, status_mb  # noqa: E402
from table import show  # noqa: E402

RUNS = 5
WAITING_SECONDS = 60
LOG_MEGABYTES = 512
SLOW_LOG_MEGABYTES = 2  # the Python client would take minutes
REPLICAS = 1000


class JobWatch(threading.Thread):
    """When a collection's only job was first seen, and when its end was: wall time, to the millisecond."""

    def __init__(self, cluster, path):
        super().__init__(daemon=True)
        self.made = self.ended = None
        self.changed = threading.Condition()
        api = cluster.api
        self._connection = http.client.HTTPSConnection("127.0.0.1", api._port, context=api._context, timeout=600)
        self._connection.request("GET", f"{path}?watch=true")
        self._answer = self._connection.getresponse()
        self.start()

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            for line in self._answer:
                self.see(json.loads(line)["object"])

    def see(self, job):
        now = time.time()
        over = {"Succeeded", "Complete"} & {c["type"] for c in job.get("status", {}).get("conditions", []) if c["status"] == "True"}
        with self.changed:
            self.made = self.made or now
            if over:
                self.ended = self.ended or now
            self.changed.notify_all()

    def wait_for(self, condition, seconds=120):
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self), seconds):
                sys.exit("bench: what is measured did not happen")


def server_seconds(event):
    return (timestamp(event["stageTimestamp"]) - timestamp(event["requestReceivedTimestamp"])).total_seconds()


def timestamp(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def asked(cluster, space, verb=""):
    """The requests of a namespace's accounts. The log is written a moment after the answer."""
    return [event for event in cluster.requests(space.name) if not verb or event["verb"] == verb]


class Bench:
    def __init__(self, cluster, program, python):
        self.cluster = cluster
        self.trainstep = contestants.trainstep(program)
        self.program = program
        self.all = [self.trainstep, contestants.kubectl(cluster), contestants.training_client(python), contestants.kubeflow_sdk(python)]

    @contextlib.contextmanager
    def namespace(self):
        with self.cluster.namespace([*steps.WORKFLOW_RULES, contestants.RIGHTS]) as space:
            contestants.make_runtime(self.cluster, space)
            yield space

    def once(self, contestant):
        """(start → job seen, of it Trainstep's or the client's own, job's end seen → process over), in seconds."""
        with self.namespace() as space:
            watch = JobWatch(self.cluster, contestant.jobs.format(space.name))
            begun, process = contestant.start(space, {"run-ms": "1500", "log-lines": "3"})
            watch.wait_for(lambda watch: watch.made)
            if contestant.jobs == contestants.TRAIN_JOBS:
                time.sleep(1.5)  # so long runs the job
                contestants.end_train_job(self.cluster, space)
            watch.wait_for(lambda watch: watch.ended)
            if process.wait(timeout=120) != 0:
                sys.exit(f"bench: {contestant.name} failed")
            over = time.time()
            events = asked(self.cluster, space)
            creates = [event for event in events if event["verb"] == "create" and "dryRun" not in event["requestURI"] and event["responseStatus"]["code"] == 201]
            until = timestamp(creates[0]["stageTimestamp"])
            server = sum(server_seconds(event) for event in events if timestamp(event["stageTimestamp"]) <= until)
            return watch.made - begun, watch.made - begun - server, over - watch.ended

    def starting_and_ending(self):
        return {one.name: [statistics.median(values) for values in zip(*(self.once(one) for _ in range(RUNS)))] for one in self.all}

    def end_in_workflow(self):
        """Job's end seen → process over, where the job stays for its owner to remove."""

        def once():
            with self.namespace() as space, tempfile.TemporaryDirectory() as folder:
                pod = steps.Pod(steps.Workflow(self.cluster, space), "flow(0).train(0)")
                step = PodStep(self.cluster, self.program, space, pathlib.Path(folder), pod)
                watch = JobWatch(self.cluster, contestants.PYTORCH.format(space.name))
                process = step.start({"run-ms": "1500"})
                watch.wait_for(lambda watch: watch.ended)
                process.wait(timeout=60)
                return time.time() - watch.ended

        return statistics.median(once() for _ in range(RUNS))

    def cancelling(self, in_pod):
        """SIGTERM → the API server has received the DELETE, in seconds; median and the longest."""

        def once():
            with self.namespace() as space, tempfile.TemporaryDirectory() as folder:
                if in_pod:
                    pod = steps.Pod(steps.Workflow(self.cluster, space), "flow(0).train(0)")
                    process = PodStep(self.cluster, self.program, space, pathlib.Path(folder), pod).start({"run-ms": "forever", "log-lines": "1"})
                else:
                    _, process = self.trainstep.start(space, {"run-ms": "forever", "log-lines": "1"})
                self.await_log(space)
                sent = time.time()
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=120)
                deleted = min(timestamp(event["requestReceivedTimestamp"]) for event in asked(self.cluster, space, "delete"))
                return deleted.timestamp() - sent

        seconds = [once() for _ in range(2 * RUNS)]
        return statistics.median(seconds), max(seconds)

    def await_log(self, space, count=1):
        """Until the server has begun to answer with the logs of so many replicas."""
        self.cluster.wait_for("apiserver", 120, lambda: self.log_streams(space) >= count)

    def log_streams(self, space):
        served = (event.get("objectRef", {}) for event in asked(self.cluster, space) if event["responseStatus"]["code"] == 200)
        return len({reference["name"] for reference in served if reference.get("subresource") == "log"})

    def waiting(self):
        """contestant → (resident MB, requests in an hour) while a job runs that says nothing; all at once. And Trainstep with 64 logs: MB."""
        forever = {"run-ms": "forever", "log-lines": "1"}
        with contextlib.ExitStack() as stack:
            running = {}
            for one in self.all:
                space = stack.enter_context(self.namespace())
                running[one.name] = (space, one.start(space, forever)[1])
            many = stack.enter_context(self.namespace())
            _, process = self.trainstep.start(many, forever, replicas=64, logs="all")
            running["64 logs"] = (many, process)
            try:
                for name, (space, _) in running.items():
                    if name != "kubeflow SDK":
                        self.await_log(space, 64 if name == "64 logs" else 1)
                time.sleep(10)  # what belongs to the start is over
                before = {name: len(asked(self.cluster, space)) for name, (space, _) in running.items()}
                time.sleep(WAITING_SECONDS)
                asked_for = {name: len(asked(self.cluster, space)) - before[name] for name, (space, _) in running.items()}
                return {name: (resident(process.pid), asked_for[name] * 3600 / WAITING_SECONDS) for name, (_, process) in running.items()}
            finally:
                for _, process in running.values():
                    end(process)

    def flood(self, contestant):
        """CPU seconds of the contestant's own for a gigabyte of log, measured on less of it."""
        megabytes = SLOW_LOG_MEGABYTES if contestant.name == "kubeflow-training" else LOG_MEGABYTES
        with self.namespace() as space:
            _, process = contestant.start(space, {"run-ms": "20000", "log-megabytes": str(megabytes)})
            used = 0.0
            while process.poll() is None:
                with contextlib.suppress(OSError):
                    used = max(used, cpu(process.pid))
                time.sleep(0.05)
            if process.returncode != 0:
                sys.exit(f"bench: {contestant.name} failed")
            return used * 1000 / megabytes

    def thousand(self):
        """A job of a thousand replicas to its end: (peak MB, seconds, pods that ended a second or more before it, those of them whose end was not seen)."""
        with self.namespace() as space, tempfile.TemporaryDirectory() as folder:
            record = pathlib.Path(folder) / "record"
            words = ("--record", str(record))
            begun, process = self.trainstep.start(space, {"run-ms": "1000"}, replicas=REPLICAS, words=words, options={"cleanup": "never"})
            peak = 0.0
            while process.poll() is None:
                with contextlib.suppress(OSError):
                    peak = max(peak, status_mb(process.pid, "VmHWM"))
                time.sleep(0.1)
            if process.returncode != 0:
                sys.exit("bench: the job of a thousand replicas failed")
            took = time.time() - begun
            (job,) = self.cluster.api.get(contestants.PYTORCH.format(space.name))["items"]
            before = timestamp(job["status"]["completionTime"]) - datetime.timedelta(seconds=1)
            pods = self.cluster.api.get(f"/api/v1/namespaces/{space.name}/pods")["items"]
            ended = {pod["metadata"]["name"] for pod in pods if (end := end_of(pod)) and end < before}
            return peak, took, len(ended), len(ended - pods_in(record))


class PodStep(steps.ProxiedStep):
    """A step in its pod before the API server itself."""

    def __init__(self, cluster, program, space, folder, pod):
        steps.Step.__init__(self, cluster, program, space, "PyTorch", folder)
        self.pod = pod

    def start(self, fates):
        words = steps.without(self.words("run", fates, None, None), "--run-id")
        words, environment = self.pod.command(words, self.tmp / "account", self.cluster.sandbox.port)
        environment = contestants.PLAIN | environment | {"HOME": str(self.tmp)}
        return subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pods_in(record):
    """The names of those whose ends the step has seen."""
    return {event["pod"]["name"] for event in map(json.loads, record.read_text().splitlines()) if is_end(event)}


def is_end(event):
    return event.get("event") == "pod" and event.get("pod", {}).get("phase") == "Succeeded"


def end_of(pod):
    (container,) = pod["status"].get("containerStatuses") or [{}]
    end = container.get("state", {}).get("terminated", {}).get("finishedAt")
    return end and timestamp(end)


class Rows(list):
    """Told as they come: all of it takes minutes."""

    def append(self, row):
        print("  ".join(cell for cell in row if cell), file=sys.stderr, flush=True)
        super().append(row)


def main():
    program, python = sys.argv[1:]
    with Cluster(ROOT / f"build/cluster/bench-{os.getpid()}") as cluster:
        cluster.start()
        contestants.define_train_jobs(cluster)
        steps.define_workflows(cluster)
        bench = Bench(cluster, pathlib.Path(program), python)
        names = [one.name for one in bench.all]
        rows = Rows()
        times = bench.starting_and_ending()
        ms = lambda seconds: f"{seconds * 1000:.0f} ms"  # noqa: E731
        rows.append(("start → job is there", *(ms(times[name][0]) for name in names), ""))
        rows.append(("  without the API server's own time", *(ms(times[name][1]) for name in names), "50 ms"))
        rows.append(("job's end → step's end, the job is deleted with its pods", ms(times["trainstep"][2]), *(f"{ms(times[name][2])} *" for name in names[1:]), ""))
        rows.append(("  the job stays for its owner, the Workflow", ms(bench.end_in_workflow()), "", "", "", "100 ms"))
        for title, in_pod, target in (("SIGTERM → DELETE, at a shell", False, "5 ms"), ("  in a pod, the cause has to be asked for", True, "40 ms")):
            median, longest = bench.cancelling(in_pod)
            rows.append((title, f"{median * 1000:.1f} ms (longest {longest * 1000:.1f})", "never", "never", "never", target))
        waiting = bench.waiting()
        rows.append(("memory while it waits, one log", *(f"{waiting[name][0]:.1f} MB" for name in names), "8 MB"))
        rows.append(("  64 logs", f"{waiting['64 logs'][0]:.1f} MB", "", "", "", "16 MB"))
        rows.append(("requests in an hour while nothing happens", *(f"{waiting[name][1]:.0f}" for name in names), "12"))
        rows.append(("CPU for a gigabyte of log", *(f"{bench.flood(one):.1f} s" for one in bench.all[:3]), "", ""))
        peak, seconds, ended, missed = bench.thousand()
        rows.append((f"{REPLICAS} replicas to their end: peak memory", f"{peak:.1f} MB", "", "", "", "32 MB"))
        rows.append((f"  in {seconds:.0f} s; missed of the {ended} that ended before the job", f"{missed}", "", "", "", "0"))
    show([("", *names, "target"), *rows])
    print("* the job stays where it is")


if __name__ == "__main__":
    main()
