# SPDX-License-Identifier: Apache-2.0
"""What makes `train` a component of the Kubeflow Pipelines SDK 2."""
from typing import Optional

from kfp.dsl import Dataset, Input, Metrics, Model, Output
from train import train


def train_text(
    model_dir: Output[Model],
    metrics: Output[Metrics],
    train_dataset_dir: Optional[Input[Dataset]] = None,
    epochs: int = 6,
    learning_rate: float = 0.003,
    batch_size: int = 16,
):
    """Trains a small language model, which then writes."""
    data = train_dataset_dir.path if train_dataset_dir else None
    loss, perplexity = train(model_dir.path, data, epochs, learning_rate, batch_size)
    metrics.log_metric("loss", loss)
    metrics.log_metric("perplexity", perplexity)
