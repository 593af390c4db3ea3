# SPDX-License-Identifier: Apache-2.0
"""Writes every sample's train_specification.v1.yaml and .v2.yaml with the real SDKs: make_specifications.py [FOLDER].

FOLDER (default: samples) gets KIND/train_specification.v1.yaml and .v2.yaml. The SDKs are those pinned in
requirements/kfp1.txt and kfp2.txt; tools/venv.sh installs them under build/venv.
"""
import inspect
import pathlib
import subprocess
import sys

SAMPLES = pathlib.Path(__file__).resolve().parent
ROOT = SAMPLES.parent

PYTORCH = "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime"
# sample → (image, packages that the image lacks). Any other image with the framework will do: see `base_image`.
KINDS = {
    "job": ("python:3.11", ["scikit-learn"]),
    "pytorch": (PYTORCH, ["scikit-learn"]),
    "images": (PYTORCH, []),
    "text": (PYTORCH, []),
    "tf": ("tensorflow/tensorflow:2.18.0", ["scikit-learn"]),
    "mpi": ("python:3.11", ["mpi4py", "scikit-learn"]),
}


def make_v1(kind: str, path: pathlib.Path) -> None:
    import component_v1
    from kfp.components import func_to_component_text

    image, packages = KINDS[kind]
    component, *helpers = functions(component_v1)
    code = "\n\n".join(map(inspect.getsource, helpers))
    path.write_text(func_to_component_text(component, base_image=image, packages_to_install=packages, extra_code=code), encoding="utf-8")


def make_v2(kind: str, path: pathlib.Path) -> None:
    import component_v2
    from kfp import compiler, dsl

    image, packages = KINDS[kind]
    component, *helpers = functions(component_v2)
    made = dsl.component(component, base_image=image, packages_to_install=packages, additional_funcs=helpers)
    compiler.Compiler().compile(made, str(path))


def functions(module):
    """The component's, then those of train.py that it needs."""
    import train

    own = {"component_v1", "component_v2"}
    (component,) = [value for value in vars(module).values() if inspect.isfunction(value) and value.__module__ in own]
    return component, *(value for value in vars(train).values() if inspect.isfunction(value))


def make_one(sdk: str, kind: str, folder: str) -> None:
    sys.path[:0] = [str(SAMPLES / kind), str(SAMPLES)]  # train.py; component_v1.py and component_v2.py, the sample's own if it has some
    path = pathlib.Path(folder, kind, f"train_specification.{sdk}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    {"v1": make_v1, "v2": make_v2}[sdk](kind, path)


def make_all(folder: str) -> None:
    subprocess.run([ROOT / "tools/venv.sh", "kfp1", "kfp2"], check=True)
    for sdk, venv in (("v1", "kfp1"), ("v2", "kfp2")):
        for kind in KINDS:  # a process for each, as each has its own `train`
            python = ROOT / "build/venv" / venv / "bin/python"
            subprocess.run([python, "-B", "-W", "ignore", __file__, sdk, kind, folder], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        make_one(*sys.argv[1:])
    else:
        make_all(sys.argv[1] if len(sys.argv) == 2 else str(SAMPLES))
