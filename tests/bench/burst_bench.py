# SPDX-License-Identifier: Apache-2.0
"""The time until a job exists in another cluster with its data in the bucket, compared with `rclone copy` and `kubectl create`, on two real control planes
and a real S3 server; and what a step requests there and here while it waits.

Usage: burst_bench.py PROGRAM. Medians of single runs in turn. Bucket and files are in memory (/dev/shm) if there is room.
"""
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests/cluster"), str(ROOT / "tests/s3")]
import burst_steps  # noqa: E402
import server as s3  # noqa: E402
from cluster import Cluster  # noqa: E402
from cluster_bench import JobWatch, asked  # noqa: E402
from contestants import IMAGE, PLAIN, fated  # noqa: E402
from processes import end  # noqa: E402
from table import show  # noqa: E402

RUNS = 5
WAITING_SECONDS = 300  # in which the Lease is renewed once
BUCKET = "bench"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"
SIZES = {"no data": 0, "64 KiB": 1 << 16, "1 GiB": 1 << 30}
FOREVER = fated({"run-ms": "forever", "log-lines": "1"})


def job_manifest():
    container = {"name": "train", "image": IMAGE, "command": ["train"]}
    template = {"metadata": {"annotations": FOREVER}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bench"}, "spec": {"template": template}}


class Bench:
    def __init__(self, program, home, there, store, folder):
        self.program, self.home, self.there, self.store, self.folder = program, home, there, store, folder
        self.environment = PLAIN | {"HOME": str(folder)}

    @contextlib.contextmanager
    def spaces(self):
        """A namespace here, with a Secret that names one there."""
        with self.home.namespace([burst_steps.READS_SECRET]) as here, burst_steps.there_of(self.there) as space:
            keys = {"minio-accesskey": self.store.root.access_key, "minio-secretkey": self.store.root.secret_key}
            cluster = {"remote-host": self.there.server, "remote-token": space.token, "remote-namespace": space.name}
            bucket = {"minio-url": self.store.url, "minio-bucket": BUCKET, "minio-job-folder": space.name}
            ca = {"remote-ca": (self.there.authority.folder / "ca.crt").read_text()}
            secret = {"metadata": {"name": "gpu"}, "stringData": cluster | ca | bucket | keys}
            self.home.api.create(f"/api/v1/namespaces/{here.name}/secrets", secret)
            yield here, space

    def trainstep(self, here, space, data):
        """→ process"""
        words = [self.program, "run", "--cluster", "kubernetes", "--namespace", here.name, "--cluster-configuration-secret", "gpu"]
        command = ["train", *([{"inputPath": "train_dataset_dir"}] if data else [])]
        words += ["--train-specification", json.dumps({"image": IMAGE, "command": command})]
        words += ["--job-options", json.dumps({"annotations": FOREVER, "agent_image": IMAGE})]
        words += ["--train-dataset-dir", data] if data else []
        return subprocess.Popen(list(map(str, words)), env=self.environment | {"KUBECONFIG": str(here.kubeconfig)}, cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def by_hand(self, here, space, data):
        manifest = self.folder / "job.json"
        manifest.write_text(json.dumps(job_manifest()))
        copy = f"{s3.programs() / 'rclone'} copy --config /dev/null --transfers 32 --s3-no-check-bucket {data} store:{BUCKET}/{space.name} && " if data else ""
        settings = {"TYPE": "s3", "PROVIDER": "Other", "ENV_AUTH": "true", "ENDPOINT": self.store.url, "REGION": "us-east-1"}
        variables = {f"RCLONE_CONFIG_STORE_{name}": value for name, value in settings.items()} | {"KUBECONFIG": str(space.kubeconfig)}
        variables |= {"AWS_ACCESS_KEY_ID": self.store.root.access_key, "AWS_SECRET_ACCESS_KEY": self.store.root.secret_key}
        words = ["sh", "-c", f"{copy}{self.there.programs / 'bin/kubectl'} create -n {space.name} -f {manifest}"]
        return subprocess.Popen(words, env=self.environment | variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def once(self, start, data):
        """Start → the job exists there, in seconds."""
        with self.spaces() as (here, space):
            watch = JobWatch(self.there, JOBS.format(space.name))
            begun = time.time()
            process = start(here, space, data)
            try:
                watch.wait_for(lambda watch: watch.made)
                arrived = self.store.file(BUCKET, space.name)
                size = sum(path.stat().st_size for path in arrived.rglob("*.bin")) if arrived.exists() else 0
                if size != (sum(path.stat().st_size for path in data.iterdir()) if data else 0):
                    sys.exit("bench: the job exists without its data")
                return watch.made - begun
            finally:
                end(process)
                shutil.rmtree(self.store.file(BUCKET, space.name), ignore_errors=True)

    @contextlib.contextmanager
    def files(self, size):
        """A folder with so many bytes; None: none."""
        data = self.folder / "data"
        data.mkdir()
        piece = os.urandom(min(size, 1 << 20))
        with open(data / "a.bin", "wb") as file:
            for number in range(max(1, size >> 20) if size else 0):
                file.write(number.to_bytes(4, "big") + piece[4:])
        try:
            yield data if size else None
        finally:
            shutil.rmtree(data)

    def compare(self, size):
        """(trainstep, by hand) in seconds, of the same runs."""
        with self.files(size) as data:
            return [tuple(self.once(start, data) for start in (self.trainstep, self.by_hand)) for _ in range(RUNS)]

    def waiting(self):
        """(requests an hour here, there) while a job with data runs that says nothing."""
        with self.spaces() as (here, space), self.files(SIZES["64 KiB"]) as data:
            process = self.trainstep(here, space, data)
            try:
                logs = lambda: [e for e in asked(self.there, space) if e.get("objectRef", {}).get("subresource") == "log"]  # noqa: E731
                self.there.wait_for("apiserver", 60, logs)
                time.sleep(10)  # what belongs to the start is over
                count = lambda: (len(asked(self.home, here)), len(asked(self.there, space)))  # noqa: E731
                before = count()
                time.sleep(WAITING_SECONDS)
                return [(now - then) * 3600 / WAITING_SECONDS for now, then in zip(count(), before)]
            finally:
                end(process)


def row(title, runs):
    ours, theirs = (statistics.median(times) for times in zip(*runs))
    return f"start → job exists, {title}", f"{ours:.3f} s", f"{theirs:.3f} s", f"{statistics.median(b / a for a, b in runs):.2f}×"


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    shared = pathlib.Path("/dev/shm")
    base = shared if shared.is_dir() and shutil.disk_usage(shared).free > 4 << 30 else ROOT / "build"
    folder = ROOT / f"build/cluster/bench-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        scratch = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir=base)))
        store = stack.enter_context(s3.S3Server(scratch / "s3"))
        store.make_bucket(BUCKET)
        there = stack.enter_context(Cluster(folder))
        there.start(without=["training-operator", "mpi-operator"])
        home = stack.enter_context(burst_steps.home_of(there))
        bench = Bench(program, home, there, store, scratch)
        rows = [("", "trainstep", "rclone copy, kubectl create", "ratio")]
        for title, size in SIZES.items():
            rows.append(row(title, bench.compare(size)))
            print("  ".join(rows[-1]), file=sys.stderr, flush=True)
        here_an_hour, there_an_hour = bench.waiting()
        rows.append(("requests in an hour while nothing happens, here", f"{here_an_hour:.0f}", "", ""))
        rows.append(("  in the other cluster", f"{there_an_hour:.0f}", "", ""))
    shutil.rmtree(folder, ignore_errors=True)
    show(rows)


if __name__ == "__main__":
    main()
