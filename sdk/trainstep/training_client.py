# SPDX-License-Identifier: Apache-2.0
"""A client with the interface of the Kubeflow Training Operator's Python SDK: change the import, and jobs are followed, collected and cleaned up."""
from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from . import _jobs
from ._jobs import Job
from ._run import Run, submit
from .specification import Function, function_text, refuse_lost_none

# The images used in samples/; any image with the framework works.
_IMAGES = {"PyTorch": "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", "TF": "tensorflow/tensorflow:2.18.0"}
_KINDS = {"PyTorchJob": "PyTorch", "TFJob": "TF", "MPIJob": "MPI"}


class TrainingClient:
    """context: of the kubeconfig; default: the pod's own cluster, else the current context. namespace, job_kind: defaults for all jobs."""

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
        """Trains `func` on num_workers replicas, and returns at once: `.follow()` shows it and returns its result.

        name: of the run; a running job of this name is adopted. train_func and func are aliases. parameters: by name; a function with
        a single parameter of another name gets all of them as a dict, as in the Training Operator's SDK. resources_per_worker: cpu, memory, gpu, or
        a resource name such as "nvidia.com/gpu".
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
    """Returns the function's arguments: parameters by name, or all of them as a dict in its only one."""
    names = list(inspect.signature(function).parameters)
    if len(names) == 1 and parameters and names[0] not in parameters:
        return {names[0]: dict(parameters)}
    return dict(parameters)


def _resources(wanted: Mapping[str, Union[str, int, float]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Converts resources_per_worker to (members of the distribution, job options)."""
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
