# SPDX-License-Identifier: Apache-2.0
"""Writes scikit-learn's handwritten digits into a folder, as a pipeline's data step would: make_digits.py FOLDER.

The folder gets digits.npz with `images` (1797 × 64 grey values 0 … 16) and `labels` (0 … 9). Every sample
trains on such a folder when it is given one as `train_dataset_dir`.
"""
import sys


def make_digits(folder):
    """Returns the file's path. Holds all that it needs: pipelines/ make a step of its source."""
    import os

    import numpy
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "digits.npz")
    numpy.savez_compressed(path, images=images.astype("uint8"), labels=labels.astype("uint8"))
    return path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_digits.py FOLDER")
    print(make_digits(sys.argv[1]))
