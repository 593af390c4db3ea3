# SPDX-License-Identifier: Apache-2.0
"""The samples in a test cluster's pods: the image is the tests', and the frameworks are mounted from this machine, because they are large."""
import pathlib
import re
import subprocess

from cluster import ROOT
from data_steps import MACHINE

SAMPLES = ROOT / "samples"


def specification(sample, image) -> str:
    """Its own, with `image` for its image."""
    text, images = re.subn(r"(\n +image: ).*", rf"\g<1>{image}", (SAMPLES / sample / "train_specification.v2.yaml").read_text(encoding="utf-8"))
    assert images == 1
    return text


def options(python_of, environment, machine=MACHINE) -> dict:
    """job_options with the packages of that environment of build/venv. `machine`: what else is mounted; an image with Open MPI and sshd has its own /usr."""
    folders = []
    for name in sorted({environment, "uv"}):  # uv's has pip
        (packages,) = pathlib.Path(python_of(name)).parents[1].glob("lib/python3*/site-packages")
        folders.append(str(packages))
    mounts = [{"mount_path": folder, "host_path": folder, "read_only": True} for folder in folders]
    variables = {"PYTHONPATH": ":".join(folders), "PIP_NO_INDEX": "1", "PIP_BREAK_SYSTEM_PACKAGES": "1", "HOME": "/tmp"}
    return {"run_policy": {"stop_grace": "1s"}, "volumes": [*machine, *mounts], "environment": variables}


def make_digits(python_of, folder):
    """The samples' data set."""
    subprocess.run([python_of("job"), SAMPLES / "data/make_digits.py", folder], check=True, capture_output=True)
