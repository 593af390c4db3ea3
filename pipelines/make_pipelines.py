# SPDX-License-Identifier: Apache-2.0
"""Compiles the pipelines with the real SDKs: make_pipelines.py [FOLDER]. FOLDER (default: pipelines) gets kfp2/, kfp1/ and argo/.

The SDKs are those pinned in samples/requirements/kfp1.txt and kfp2.txt; tools/venv.sh installs them under build/venv.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# The one thing that differs from one compilation of SDK 1.8 to the next.
COMPILED_AT = re.compile(r", pipelines\.kubeflow\.org/pipeline_compilation_time: '[^']*'")


def make(python, folder: pathlib.Path, *files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    script = HERE / folder.name / "digits.py"
    subprocess.run([python, "-B", "-W", "ignore", script, *(folder / file for file in files)], check=True, stdout=subprocess.DEVNULL)


def make_all(folder: pathlib.Path) -> None:
    subprocess.run([ROOT / "tools/venv.sh", "kfp1", "kfp2"], check=True)
    for sdk in "kfp1", "kfp2":
        make(ROOT / "build/venv" / sdk / "bin/python", folder / sdk, "digits.yaml")
    make(sys.executable, folder / "argo", "digits.yaml", "digits-cluster.yaml")
    compiled = folder / "kfp1/digits.yaml"
    text, times = COMPILED_AT.subn("", compiled.read_text(encoding="utf-8"))
    assert times == 1, f"{times} times of compilation in {compiled}"
    compiled.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    make_all(pathlib.Path(sys.argv[1]) if len(sys.argv) == 2 else HERE)
