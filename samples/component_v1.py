# SPDX-License-Identifier: Apache-2.0
"""What makes a sample's `train` a component of the Kubeflow Pipelines SDK 1.8: the same for every sample."""
from typing import NamedTuple

from kfp.components import InputPath, OutputPath
from train import train


def train_digits(
    model_dir: OutputPath("Model"),
    train_dataset_dir: InputPath("Dataset") = None,
    epochs: int = 8,
    learning_rate: float = 0.4,
    batch_size: int = 16,
) -> NamedTuple("Outputs", [("accuracy", float), ("loss", float)]):
    """Trains a model that reads handwritten digits."""
    return train(model_dir, train_dataset_dir, epochs, learning_rate, batch_size)
