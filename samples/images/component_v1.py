# SPDX-License-Identifier: Apache-2.0
"""What makes `train` a component of the Kubeflow Pipelines SDK 1.8."""
from typing import NamedTuple

from kfp.components import InputPath, OutputPath
from train import train


def train_shapes(
    model_dir: OutputPath("Model"),
    train_dataset_dir: InputPath("Dataset") = None,
    base_dir: InputPath("Model") = None,
    epochs: int = 6,
    learning_rate: float = 0.05,
    batch_size: int = 16,
    base_epochs: int = 6,
) -> NamedTuple("Outputs", [("accuracy", float), ("loss", float)]):
    """Fine-tunes a pretrained network to classify new shapes."""
    return train(model_dir, train_dataset_dir, base_dir, epochs, learning_rate, batch_size, base_epochs)
