# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on the sources that have changed.

A source's key is the hash of the rules, its compile command, its own text and that of every header of ours that it includes, directly or not.
The keys of clean runs are stored in build/lint/clean/.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMANDS = ROOT / "build/lint"  # the preset of this name
CLEAN = COMMANDS / "clean"
TIDY = "clang-tidy-19"


def own_headers(source, known):
    """Returns `source` and all files of the repository that it includes; `known` caches the includes of each file."""
    found, todo = set(), [source]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        if path not in known:
            names = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)
            known[path] = [folder / name for name in names for folder in (ROOT / "src", ROOT / "tests") if (folder / name).is_file()]
        todo += known[path]
    return sorted(found)


def key(entry, known):
    rules = b"".join((ROOT / name).read_bytes() for name in (".clang-tidy", "tests/.clang-tidy"))
    text = hashlib.sha256(rules + entry["command"].encode())
    for path in own_headers(pathlib.Path(entry["file"]), known):
        text.update(path.read_bytes())
    return text.hexdigest()


def tidy(entry):
    """Runs clang-tidy on one source. Returns the entry and the output, empty if clean."""
    run = subprocess.run([TIDY, "--quiet", "-p", COMMANDS, entry["file"]], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = re.sub(r"^\d+ warnings? generated\.\n", "", run.stdout + run.stderr, flags=re.MULTILINE)
    return entry, (said.strip() or "clang-tidy failed") if run.returncode else ""


def main():
    CLEAN.mkdir(parents=True, exist_ok=True)
    entries = json.loads((COMMANDS / "compile_commands.json").read_text())
    known = {}
    keys = {entry["file"]: key(entry, known) for entry in entries if os.path.exists(entry["file"])}
    todo = [entry for entry in entries if entry["file"] in keys and not (CLEAN / keys[entry["file"]]).exists()]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, said in pool.map(tidy, todo):
            if said:
                bad += 1
                print(said, flush=True)
            else:
                (CLEAN / keys[entry["file"]]).touch()
    for old in set(CLEAN.iterdir()) - {CLEAN / value for value in keys.values()}:
        old.unlink()
    print(f"clang-tidy: {len(entries)} files, {len(todo)} read, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
