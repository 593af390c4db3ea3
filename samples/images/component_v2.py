# SPDX-License-Identifier: Apache-2.0
"""What makes `train` a component of the Kubeflow Pipelines SDK 2."""
from typing import Optional

from kfp.dsl import Dataset, Input, Metrics, Model, Output
from train import train


def train_shapes(
    model_dir: Output[Model],
    metrics: Output[Metrics],
    train_dataset_dir: Optional[Input[Dataset]] = None,
    base_dir: Optional[Input[Model]] = None,
    epochs: int = 6,
    learning_rate: float = 0.05,
    batch_size: int = 16,
    base_epochs: int = 6,
):
    """Fine-tunes a pretrained network to classify new shapes."""
    data, base = (given.path if given else None for given in (train_dataset_dir, base_dir))
    accuracy, loss = train(model_dir.path, data, base, epochs, learning_rate, batch_size, base_epochs)
    metrics.log_metric("accuracy", accuracy)
    metrics.log_metric("loss", loss)
