# SPDX-License-Identifier: Apache-2.0
"""Draws the shapes of samples/images into a folder, as a pipeline's data step would: make_shapes.py FOLDER [NUMBER]

The folder gets shapes.npz with `images` (NUMBER × 24 × 24 grey values 0 … 255; default: 4800) and `labels` (0 … 7).
"""
import os
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "images"))
from train import draw_shapes  # noqa: E402

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: make_shapes.py FOLDER [NUMBER]")
    images, labels = draw_shapes(int(sys.argv[2]) if len(sys.argv) == 3 else 4800, seed=0)
    os.makedirs(sys.argv[1], exist_ok=True)
    path = os.path.join(sys.argv[1], "shapes.npz")
    numpy.savez_compressed(path, images=images, labels=labels.astype("uint8"))
    print(path)
