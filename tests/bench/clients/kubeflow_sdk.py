# SPDX-License-Identifier: Apache-2.0
"""A TrainJob run with the Kubeflow SDK as users run it: train, wait. Usage: … KUBECONFIG NAMESPACE NAME"""
import logging
import sys

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient
from kubeflow.trainer.options import Name


def train():
    pass


logging.disable()  # that the version of its operator may not be read
kubeconfig, namespace, name = sys.argv[1:]
client = TrainerClient(KubernetesBackendConfig(config_file=kubeconfig, namespace=namespace))
client.train(runtime="bench", trainer=CustomTrainer(func=train, num_nodes=3), options=[Name(name)])
client.wait_for_job_status(name)
