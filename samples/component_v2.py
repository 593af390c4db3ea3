# SPDX-License-Identifier: Apache-2.0
"""What makes a sample's `train` a component of the Kubeflow Pipelines SDK 2: the same for every sample."""
from typing import Optional

from kfp.dsl import Dataset, Input, Metrics, Model, Output
from train import train


def train_digits(
    model_dir: Output[Model],
    metrics: Output[Metrics],
    train_dataset_dir: Optional[Input[Dataset]] = None,
    epochs: int = 8,
    learning_rate: float = 0.4,
    batch_size: int = 16,
):
    """Trains a model that reads handwritten digits."""
    data = train_dataset_dir.path if train_dataset_dir else None
    accuracy, loss = train(model_dir.path, data, epochs, learning_rate, batch_size)
    metrics.log_metric("accuracy", accuracy)
    metrics.log_metric("loss", loss)
