# SPDX-License-Identifier: Apache-2.0
"""samples/notebook.ipynb runs from its first cell to its last on a machine with its environments and the wheel, and shows what it should."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, SAMPLES
from surroundings import clean_environment

NOTEBOOK = SAMPLES / "notebook.ipynb"
KEPT = json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def test_the_notebook_is_kept_without_outputs_as_nbformat_writes_it(python_of):
    """What a run leaves behind (outputs, counts, who ran it) would be another one each time."""
    code = [cell for cell in KEPT["cells"] if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert KEPT["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}
    }
    canonical = "import nbformat, sys; n = nbformat.read(sys.argv[1], 4); nbformat.validate(n); print(nbformat.writes(n))"
    done = subprocess.run([python_of("notebook"), "-c", canonical, NOTEBOOK], capture_output=True, text=True, check=True)
    assert done.stdout == NOTEBOOK.read_text(encoding="utf-8")


def new_environment(folder: pathlib.Path, model: pathlib.Path) -> None:
    """One of its own with all that `model` has, for the notebook to install into."""
    subprocess.run([model / "bin/python", "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (others,) = model.glob("lib/python3*/site-packages")
    (packages / "model.pth").write_text(f"{others}\n", encoding="utf-8")
    script = (model / "bin/jupyter-execute").read_text(encoding="utf-8").split("\n", 1)[1]
    (folder / "bin/jupyter-execute").write_text(f"#!{folder}/bin/python\n{script}", encoding="utf-8")
    (folder / "bin/jupyter-execute").chmod(0o755)


@pytest.fixture(scope="module")
def executed(python_of, tmp_path_factory):
    """cell id → its outputs, after the command of samples/README.md."""
    environments = pathlib.Path(python_of("notebook")).parents[2]
    folder = tmp_path_factory.mktemp("notebook")
    shutil.copytree(SAMPLES, folder / "samples")
    (folder / "build/venv").mkdir(parents=True)
    assert list((ROOT / "build/wheel").glob("trainstep-*.whl")), "no wheel in build/wheel: ./dev wheel makes it"
    (folder / "build/wheel").symlink_to(ROOT / "build/wheel")
    for name in ("mpi", "tf", "pytorch"):
        (folder / "build/venv" / name).symlink_to(environments / name)
    new_environment(folder / "build/venv/notebook", environments / "notebook")
    clean = clean_environment()
    own = {"HOME": str(folder), "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_COLOR": "1"}
    (command,) = re.findall(r"^    (cd samples && .*)$", (SAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    done = subprocess.run(["sh", "-c", command], cwd=folder, env={**clean, **own}, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    cells = json.loads((folder / "samples/executed.ipynb").read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: cell["outputs"] for cell in cells if cell["cell_type"] == "code"}


def said(outputs):
    return "".join(text for output in outputs if output["output_type"] == "stream" for text in output["text"])


def shown(outputs, kind):
    return ["".join(output["data"][kind]) for output in outputs if kind in output.get("data", {})]


RUNS = {
    "one": ["epoch=8/8"],
    "mpi": ["worker 2 of 3 has 479 images", "epoch=8/8"],
    "tf": ["worker 1 serves", "ps 0 serves", "epoch=8/8"],
    "pytorch": ["rank 2 of 3 trains on 479 images", "epoch=8/8"],
}


@pytest.mark.parametrize("name", RUNS)
def test_training_shows_its_lines_and_its_report(executed, name):
    log = said(executed[f"run-{name}"])
    assert all(line in log for line in RUNS[name]), log
    (report,) = shown(executed[f"report-{name}"], "text/html")
    assert report.startswith("<iframe") and "svg" in report and "accuracy" in report


def test_every_training_learns(executed):
    (accuracies,) = shown(executed["accuracies"], "text/plain")
    found = [float(value) for value in re.findall(r"0\.\d+", accuracies)]
    assert len(found) == 4 and min(found) >= 0.9, accuracies


@pytest.mark.parametrize("cell", ["digits", "picture", "weights"])
def test_pictures_are_drawn(executed, cell):
    (picture,) = shown(executed[cell], "image/png")
    assert len(picture) > 2000


def test_failure_shows_the_error_message_of_the_program(executed):
    assert "TrainingError: " in said(executed["failing"]) and "ValueError: the data set has no labels" in said(executed["failing"])


def test_what_would_be_sent_to_a_cluster_is_a_manifest(executed):
    assert "kind: MPIJob" in said(executed["render"]) and "replicas: 3" in said(executed["render"])
