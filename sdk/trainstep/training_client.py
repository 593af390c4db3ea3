# SPDX-License-Identifier: Apache-2.0
"""Calls in the shape of the Kubeflow Training Operator's Python SDK: one import changes, and jobs are followed, collected and cleaned up."""
from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from . import _jobs
from ._jobs import Job
from ._run import Run, submit
from .specification import Function, function_text, refuse_lost_none

# The images of samples/; any other that has the framework will do.
_IMAGES = {"PyTorch": "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", "TF": "tensorflow/tensorflow:2.18.0"}
_KINDS = {"PyTorchJob": "PyTorch", "TFJob": "TF", "MPIJob": "MPI"}


class TrainingClient:
    """context: of the kubeconfig; default: the pod's own cluster, else the current context. namespace, job_kind: of all jobs that do not say their own."""

    def __init__(self, context: Optional[str] = None, namespace: Optional[str] = None, job_kind: str = "PyTorchJob") -> None:
        self.context = context
        self.namespace = namespace
        self.job_kind = job_kind

    def create_job(
        self,
        name: str,
        train_func: Optional[Function] = None,
        *,
        func: Optional[Function] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        num_workers: int = 1,
        num_procs_per_worker: Optional[int] = None,
        resources_per_worker: Optional[Mapping[str, Union[str, int, float]]] = None,
        packages_to_install: Sequence[str] = (),
        base_image: Optional[str] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        job_kind: Optional[str] = None,
        namespace: Optional[str] = None,
    ) -> Run:
        """Trains `func` on num_workers replicas, and comes back at once: `.follow()` shows it and gives its result.

        name: of the run: a running job of this name is taken up, not made twice. train_func and func are the same. parameters: by name; a function with
        one parameter of another name gets all of them in it, as the Training Operator's SDK does it. resources_per_worker: cpu, memory, gpu, or
        a resource's own name, such as "nvidia.com/gpu".
        """
        function = train_func or func
        if function is None or (train_func and func):
            raise TypeError("create_job: requires train_func, or its alias func")
        kind = job_kind or self.job_kind
        if kind not in _KINDS:
            raise ValueError(f"create_job: expected job_kind {', '.join(_KINDS)}, got {kind}")
        image = base_image or _IMAGES.get(_KINDS[kind])
        distribution, options = _resources(resources_per_worker or {})
        if env_vars:
            options["environment"] = dict(env_vars)
        if num_procs_per_worker:
            distribution["processes_per_worker"] = num_procs_per_worker
        given = arguments(function, parameters or {})
        refuse_lost_none(function, given)
        types = {name: type(value) for name, value in given.items()}
        return submit(
            function_text(function, image, packages_to_install, (), types),
            given,
            {"distribution_type": _KINDS[kind], "number_of_workers": num_workers, **distribution},
            namespace=namespace or self.namespace,
            context=self.context,
            run_id=name,
            model_name=name,
            job_options=options,
        )

    def list_jobs(self, namespace: Optional[str] = None) -> list[Job]:
        return _jobs.list_jobs(namespace=namespace or self.namespace, context=self.context)

    def get_job_logs(self, name: str, replica: Optional[str] = None, *, namespace: Optional[str] = None) -> str:
        return _jobs.logs(name, replica, namespace=namespace or self.namespace, context=self.context)

    def delete_job(self, name: str, namespace: Optional[str] = None) -> None:
        _jobs.stop(name, namespace=namespace or self.namespace, context=self.context)


def arguments(function: Function, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What the function gets: its parameters by name, or all of them in its only one."""
    names = list(inspect.signature(function).parameters)
    if len(names) == 1 and parameters and names[0] not in parameters:
        return {names[0]: dict(parameters)}
    return dict(parameters)


def _resources(wanted: Mapping[str, Union[str, int, float]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """resources_per_worker → (of the distribution, of the job's options)."""
    distribution: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, amount in wanted.items():
        if name in ("cpu", "memory"):
            distribution["worker_cpus" if name == "cpu" else "worker_memory"] = amount
        elif "worker_gpus" not in distribution and (name == "gpu" or "/" in name):
            distribution["worker_gpus"] = amount
            if name != "gpu":
                options["gpu_resource"] = name
        else:
            raise ValueError(f"resources_per_worker: expected cpu, memory and one of gpu or a resource name, got {', '.join(wanted)}")
    return distribution, options
