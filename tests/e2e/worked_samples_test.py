# SPDX-License-Identifier: Apache-2.0
"""samples/images and samples/text: two workers train, and the trained models work on data that they were not trained on."""
import json
import re
import subprocess

import pytest
from conftest import ROOT, SAMPLES, read_json

TWO = {"distribution_type": "PyTorch", "number_of_workers": 2}


@pytest.fixture
def train(trainstep, python_of, tmp_path):
    """train("images", "v1", "model", …): what it printed; the model is tmp_path/model."""

    def run(sample, version, model, parameters=None, distribution=None, inputs=()):
        done = trainstep(
            *("run", "--cluster", "local", "--python", python_of("pytorch")),
            *("--train-specification", f"@{SAMPLES / sample / f'train_specification.{version}.yaml'}"),
            *("--train-parameters", {"model_dir": "model_dir", **(parameters or {})}, "--distribution-specification", distribution or {}),
            *("--model-dir", tmp_path / model, "--metrics", tmp_path / f"{model}.json", *inputs),
            check=0,
        )
        return done.stdout + done.stderr

    return run


@pytest.fixture
def evaluate(python_of):
    def run(sample, *arguments):
        words = [python_of("pytorch"), "-B", SAMPLES / sample / "evaluate.py", *arguments]
        return subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT).stdout

    return run


def number(name, text):
    return float(re.findall(rf"^{name}=(\S+)$", text, re.MULTILINE)[-1])


def test_two_workers_fine_tune_a_network_and_the_next_training_reuses_its_weights(train, evaluate, tmp_path):
    log = train("images", "v2", "first", distribution=TWO)
    assert "known shapes: rank 1 of 2 trains on 1000 images" in log and "new shapes: rank 1 of 2 trains on 1000 images" in log
    assert re.search(r"epoch=6/6 loss=\S+ accuracy=\S+ samples_per_second=\d+", log)
    metrics = read_json(tmp_path / "first.json")
    assert 0.9 <= metrics["accuracy"] <= 1 and metrics["samples_per_second"] > 1
    shown = evaluate("images", tmp_path / "first")
    assert 0.85 <= number("accuracy", shown) <= 1
    rows = re.findall(r"^(?:ring|frame|star|stripes) +(\d+) +(\d+) +(\d+) +(\d+)$", shown, re.MULTILINE)
    assert len(rows) == 4 and sum(int(count) for row in rows for count in row) == 800

    base = "--validation-dataset-dir", tmp_path / "first"  # the step has two input paths, whatever the program calls them
    again = train("images", "v1", "second", {"base_dir": "validation_dataset_dir", "epochs": 1}, inputs=base)
    assert "known shapes" not in again and "new shapes: rank 0 of 1 trains on 2000 images" in again
    assert (tmp_path / "second/base.pt").stat().st_size > 1000
    without = train("images", "v1", "third", {"base_epochs": 0, "epochs": 1})
    assert read_json(tmp_path / "second.json")["accuracy"] > read_json(tmp_path / "third.json")["accuracy"] + 0.02, again + without


def test_two_workers_teach_a_network_to_write(train, evaluate, tmp_path):
    log = train("text", "v1", "model", {"epochs": 3, "batch_size": 8}, distribution=TWO)
    assert "rank 1 of 2 trains on 461 pieces of 64 characters" in log
    metrics = read_json(tmp_path / "model.json")
    assert metrics["loss"] < 1.1 and 1 < metrics["perplexity"] < 3
    assert (tmp_path / "model/sample.txt").read_text(encoding="utf-8").splitlines()[-1] in log
    written = evaluate("text", tmp_path / "model", "a quiet ")
    assert written.startswith("a quiet ") and number("words_known", written) > 0.3, written


def test_network_learns_from_texts_of_a_folder(train, tmp_path):
    folder = tmp_path / "texts"
    (folder / "inner").mkdir(parents=True)
    (folder / "one.md").write_text("ababab" * 400, encoding="utf-8")
    (folder / "inner/two.txt").write_text("cdcdcd" * 400, encoding="utf-8")
    (folder / "other.json").write_text("€", encoding="utf-8")
    train("text", "v2", "model", {"train_dataset_dir": "train_dataset_dir", "epochs": 1}, inputs=("--train-dataset-dir", folder))
    assert json.loads((tmp_path / "model/characters.json").read_text(encoding="utf-8")) == "abcd"


def test_shapes_of_a_folder_are_those_that_the_sample_draws_itself(python_of, tmp_path):
    subprocess.run([python_of("pytorch"), "-B", SAMPLES / "data/make_shapes.py", tmp_path, "16"], check=True, capture_output=True)
    compare = """
import sys
import numpy
from train import draw_shapes
data, (images, labels) = numpy.load(sys.argv[1]), draw_shapes(16, 0)
print((data["images"] == images).all() and (data["labels"] == labels).all())
"""
    words = [python_of("pytorch"), "-B", "-c", compare, tmp_path / "shapes.npz"]
    assert subprocess.run(words, cwd=SAMPLES / "images", check=True, capture_output=True, text=True).stdout == "True\n"
