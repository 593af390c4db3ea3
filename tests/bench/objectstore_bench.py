# SPDX-License-Identifier: Apache-2.0
"""The time to transfer data between files and an object store compared with the alternatives, in one run on one server.

Usage: objectstore_bench.py PROGRAM PYTHON [--large 4x1024] [--small 10000] [--runs 7] [--only …], where PYTHON has the packages of
requirements/objectstore.txt. In each run all programs are measured, in a different order; ratios are those of single runs. Times are from the start of
the process to its end. Files and server are in memory (/dev/shm) if there is room, so that no disk is measured.
"""
import argparse
import dataclasses
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
sys.path.insert(0, str(ROOT / "tests/s3"))
import server as s3  # noqa: E402
from table import show  # noqa: E402

PEAK = ROOT / "build/release/peak"
BUCKET = "bench"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    files: int
    size: int  # bytes of each

    def make(self, folder):
        """Contents that are no two times the same."""
        folder.mkdir()
        piece = os.urandom(min(self.size, 1 << 20))
        for number in range(self.files):
            with open(folder / f"file-{number:05}", "wb") as file:
                for part in range(max(1, self.size >> 20)):
                    file.write(number.to_bytes(4, "big") + part.to_bytes(4, "big") + piece[8:])

    def check(self, folder, original=None):
        """All that was to come is there; with `original` byte for byte."""
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
        if names != [f"file-{number:05}" for number in range(self.files)] or any((folder / name).stat().st_size != self.size for name in names):
            sys.exit(f"bench: {folder} is not whole")
        if original and subprocess.run(["diff", "-rq", original, folder], stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit(f"bench: {folder} is not the same as {original}")


class Bench:
    def __init__(self, program, python, folder, server):
        self.program, self.python, self.folder, self.server = program, python, folder, server
        self.programs = s3.programs()
        ca = {"SSL_CERT_FILE": str(server.ca_file), "AWS_CA_BUNDLE": str(server.ca_file)} if server.ca_file else {}
        keys = {"AWS_ACCESS_KEY_ID": server.root.access_key, "AWS_SECRET_ACCESS_KEY": server.root.secret_key, "AWS_REGION": "us-east-1"}
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TRAINSTEP_TERMINATION_LOG": str(folder / "message"), **keys, **ca}
        self.contestants = {"trainstep": self.trainstep, "s5cmd": self.s5cmd, "rclone": self.rclone, "boto3": self.boto3}

    # Each of them: (direction, folder of files, prefix) → (command, further environment).

    def trainstep(self, direction, files, prefix, scratch=None, attempt=1):
        place = {"name": "files", "path": str(files), "uri": f"s3://{BUCKET}/{prefix}", "store": 0}
        store = {"endpoint": self.server.url, "region": "us-east-1", "path_style": True}
        if self.server.ca_file:
            store["ca_file"] = str(self.server.ca_file)
        way = {"outputs": [place | {"type": "artifact"}], "inputs": []} if direction == "up" else {"inputs": [place], "outputs": []}
        task = self.folder / "task.json"
        task.write_text(json.dumps({"job": "bench", "attempt": str(attempt), "stores": [store], **way, "finishing_limit": 5}))
        # What is not written by a program is none of its outputs.
        remembers = ["--scratch", scratch] if scratch else []
        return [self.program, "exec", "--task", task, *remembers, *(["--", "touch", files] if direction == "up" else [])], {}

    def s5cmd(self, direction, files, prefix):
        ends = [f"{files}/", f"s3://{BUCKET}/{prefix}/"] if direction == "up" else [f"s3://{BUCKET}/{prefix}/*", f"{files}/"]
        return [self.programs / "s5cmd", "--endpoint-url", self.server.url, "cp", *ends], {}

    def rclone(self, direction, files, prefix):
        ends = [files, f"store:{BUCKET}/{prefix}"] if direction == "up" else [f"store:{BUCKET}/{prefix}", files]
        settings = {"TYPE": "s3", "PROVIDER": "Other", "ENV_AUTH": "true", "ENDPOINT": self.server.url, "REGION": "us-east-1"}
        words = ["copy", "--config", "/dev/null", "--transfers", "32", "--s3-no-check-bucket", *ends]
        return [self.programs / "rclone", *words], {f"RCLONE_CONFIG_STORE_{name}": value for name, value in settings.items()}

    def boto3(self, direction, files, prefix):
        return [self.python, HERE / "clients/boto3_client.py", direction, files, BUCKET, prefix, self.server.url], {}

    def once(self, name, case, direction, original):
        """(seconds, peak MB)"""
        prefix = f"{case.name}/{'to' if direction == 'up' else 'from'}"
        files = original if direction == "up" else self.folder / "fetched"
        seconds, peak = self.timed(*self.contestants[name](direction, files, prefix))
        arrived = self.server.file(BUCKET, prefix) if direction == "up" else files
        case.check(arrived, original if case.files * case.size < 1 << 28 else None)
        shutil.rmtree(arrived)
        return seconds, peak

    def timed(self, command, more):
        """(seconds, peak MB)"""
        begin = time.perf_counter()
        done = subprocess.run([PEAK, *map(str, command)], env=self.environment | more, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"bench: {command[0]} failed: {done.stderr[-2000:]}")
        return seconds, int(done.stdout) * 1024 / 1e6

    def again(self, case, direction, original, runs):
        """[(seconds, seconds with nothing changed), …]"""
        prefix = f"{case.name}/{'to' if direction == 'up' else 'from'}"
        files = original if direction == "up" else self.folder / "fetched"
        arrived = self.server.file(BUCKET, prefix) if direction == "up" else files
        found = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                # Of one attempt nothing would be fetched twice, whatever is there.
                found.append(tuple(self.timed(*self.trainstep(direction, files, prefix, scratch, attempt))[0] for attempt in (1, 2)))
                case.check(arrived)
            shutil.rmtree(arrived)
        return found

    def compare(self, case, direction, original, runs):
        """contestant → [(seconds, MB), …], of the same runs."""
        found = {name: [] for name in self.contestants}
        for run in range(runs):
            order = list(found)[run % len(found) :] + list(found)[: run % len(found)]
            for name in order:
                found[name].append(self.once(name, case, direction, original))
        return found

    def prepare(self, case, original):
        """Puts the objects to fetch, with another client."""
        command, more = self.s5cmd("up", original, f"{case.name}/from")
        subprocess.run(list(map(str, command)), env=self.environment | more, check=True, stdout=subprocess.DEVNULL)


def shown(seconds):
    return f"{seconds:.3f} s" if seconds < 1 else f"{seconds:.2f} s"


def unchanged_row(title, found):
    first, second = (shown(statistics.median(runs)) for runs in zip(*found))
    return title, first, second, f"{statistics.median(a / b for a, b in found):.0f}×"


def row(title, found):
    medians = {name: statistics.median(seconds for seconds, _ in runs) for name, runs in found.items()}
    fastest = min((name for name in medians if name != "trainstep"), key=medians.get)
    ratio = statistics.median(theirs[0] / ours[0] for theirs, ours in zip(found[fastest], found["trainstep"]))
    times = map(shown, medians.values())
    memory = " / ".join(f"{max(mb for _, mb in runs):.0f}" for runs in found.values())
    return (title, *times, f"{ratio:.2f}× {fastest}", memory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("python")
    parser.add_argument("--large", default="4x1024", help="files × MiB")
    parser.add_argument("--small", type=int, default=10_000, help="files of 4 KiB")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", default="", help="large, small or one; plain or tls; up or down; several with commas")
    arguments = parser.parse_args()
    count, size = map(int, arguments.large.split("x"))
    cases = [Case("large", count, size << 20), Case("small", arguments.small, 4096), Case("one", 1, 65_536)]
    only = set(filter(None, arguments.only.split(",")))
    titles = {"large": f"{count} × {size} MiB", "small": f"{arguments.small:,} × 4 KiB", "one": "1 × 64 KiB"}
    unchanged = [("trainstep, once more with nothing changed", "first", "second", "ratio")]
    need = 4 * count * (size << 20)
    shared = pathlib.Path("/dev/shm")
    base = shared if shared.is_dir() and shutil.disk_usage(shared).free > need else ROOT / "build"
    rows = [("", "trainstep", "s5cmd", "rclone", "boto3", "ratio to the fastest", "peak MB, in this order")]
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = pathlib.Path(name)
        (folder / "message").touch()
        for tls in (False, True):
            if only & {"plain", "tls"} and ("tls" if tls else "plain") not in only:
                continue
            for case in cases:
                if only & {"large", "small", "one"} and case.name not in only:
                    continue
                with s3.S3Server(folder / "s3", tls) as server:
                    server.make_bucket(BUCKET)
                    bench = Bench(arguments.program, arguments.python, folder, server)
                    original = folder / "files"
                    case.make(original)
                    bench.prepare(case, original)
                    for direction in ("up", "down"):
                        title = f"{titles[case.name]}, {direction}{', TLS' if tls else ''}"
                        if only & {"up", "down"} and direction not in only:
                            continue
                        found = bench.compare(case, direction, original, arguments.runs)
                        rows.append(row(title, found))
                        print(rows[-1], file=sys.stderr, flush=True)
                        if case.files > 1:
                            unchanged.append(unchanged_row(title, bench.again(case, direction, original, arguments.runs)))
                            print(unchanged[-1], file=sys.stderr, flush=True)
                shutil.rmtree(folder / "s3")
                shutil.rmtree(folder / "files")
    show(rows)
    if len(unchanged) > 1:
        show(unchanged)


if __name__ == "__main__":
    main()
