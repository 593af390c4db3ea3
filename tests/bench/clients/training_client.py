# SPDX-License-Identifier: Apache-2.0
"""A PyTorchJob run with the training operator's client as users run it: create, show the log, wait.

Usage: … KUBECONFIG NAMESPACE MANIFEST
"""
import json
import sys

from kubeflow.training import KubeflowOrgV1PyTorchJob, TrainingClient
from kubernetes.client import V1ObjectMeta

kubeconfig, namespace, manifest = sys.argv[1:]
job = json.loads(manifest)
name = job["metadata"]["name"]
client = TrainingClient(config_file=kubeconfig, namespace=namespace)
client.create_job(KubeflowOrgV1PyTorchJob(api_version=job["apiVersion"], kind=job["kind"], metadata=V1ObjectMeta(name=name), spec=job["spec"]))
client.wait_for_job_conditions(name, expected_conditions={"Running", "Succeeded"}, polling_interval=1)
client.get_job_logs(name, follow=True)
client.wait_for_job_conditions(name)
