# SPDX-License-Identifier: Apache-2.0
"""Looks at shapes that no training has seen with the model that train.py has left: evaluate.py MODEL_DIR. Prints the confusion matrix and the accuracy."""
import os
import sys

import numpy
import torch
from train import build_network, draw_shapes

NAMES = ["ring", "frame", "star", "stripes"]


def evaluate(model_dir):
    """(share of right answers 0 to 1, rows of the confusion matrix: true shape by answer)"""
    images, labels = draw_shapes(1600, seed=1)
    new = labels >= 4
    network = build_network(len(NAMES))
    network.load_state_dict(torch.load(os.path.join(model_dir, "model.pt"), map_location="cpu"))
    with torch.no_grad():
        answers = network(torch.tensor(images[new], dtype=torch.float32)[:, None] / 255 - 0.5).argmax(1).numpy()
    confusion = numpy.zeros((len(NAMES), len(NAMES)), dtype=int)
    numpy.add.at(confusion, (labels[new] - 4, answers), 1)
    return float(confusion.trace() / confusion.sum()), confusion.tolist()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: evaluate.py MODEL_DIR")
    accuracy, rows = evaluate(sys.argv[1])
    for name, row in zip(["", *NAMES], [NAMES, *rows]):
        print(f"{name:8}" + "".join(f"{cell:>9}" for cell in row))
    print(f"accuracy={accuracy:.4f}")
