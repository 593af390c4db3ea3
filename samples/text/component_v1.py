# SPDX-License-Identifier: Apache-2.0
"""What makes `train` a component of the Kubeflow Pipelines SDK 1.8."""
from typing import NamedTuple

from kfp.components import InputPath, OutputPath
from train import train


def train_text(
    model_dir: OutputPath("Model"),
    train_dataset_dir: InputPath("Dataset") = None,
    epochs: int = 6,
    learning_rate: float = 0.003,
    batch_size: int = 16,
) -> NamedTuple("Outputs", [("loss", float), ("perplexity", float)]):
    """Trains a small language model, which then writes."""
    return train(model_dir, train_dataset_dir, epochs, learning_rate, batch_size)
